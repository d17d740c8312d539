"""OCM: a set of ManifestWorks is rolled out, moves with its placement, and comes back."""

from tests.builders import Body, rebalancer, text
from tests.delivery.karmada_story import CONFIGURATION
from tests.delivery.story import DeliveryStory, Step, files_of
from tests.dialects.ocm.sets import (
    SHOP,
    progressive,
    replica_set,
    report_of,
    settings_map,
)
from tests.dialects.ocm.worlds import GROUP, binding, cluster, cluster_set, placement

NAMES = ("east", "north", "west")
TAINT: Body = {"key": "maintenance", "effect": "NoSelect"}


def wanted(version: str) -> Body:
    """The set, with one cluster at a time."""
    return replica_set(settings_map(version), strategy=progressive())


def reported(name: str, version: str) -> dict[str, str]:
    """What the agent of a cluster says once it has the ManifestWork of a version."""
    fine = {"Applied": "True", "Available": "True", "Progressing": "False"}
    body = report_of(name, wanted(version), "2026-11-20T12:00:00Z", **fine)
    return {f"feedback/{name}/{SHOP.name}.yaml": text(body)}


REFERENCE = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Placement", "name": "p", "namespace": "ns1"}
OCM = DeliveryStory(
    name="ocm",
    column="the folders that have the settings, with their version",
    files={
        "reconciler.yaml": CONFIGURATION,
        **files_of(cluster_set(), binding(), placement(numberOfClusters=2), *map(cluster, NAMES)),
    },
    clusters=NAMES,
    path="shop/configmaps/settings.yaml",
    fact=r'^  v: "?(\w+)"?$',
    steps=(
        Step(
            "the set is merged: one cluster at a time",
            0,
            files_of(wanted("v1")),
            "east: v1",
        ),
        Step("east reports that it has it", 60, reported("east", "v1"), "east: v1, north: v1"),
        Step("north reports that it has it", 120, reported("north", "v1"), "east: v1, north: v1"),
        Step("a new version is merged", 180, files_of(wanted("v2")), "east: v2, north: v1"),
        Step(
            "north gets a taint: the decision moves to west, which waits for its turn",
            240,
            files_of(cluster("north", TAINT)),
            "east: v2",
        ),
        Step("east reports that it has it", 300, reported("east", "v2"), "east: v2, west: v2"),
        Step(
            "west reports that it has it, and north is back; that moves nothing",
            360,
            {**reported("west", "v2"), **files_of(cluster("north"))},
            "east: v2, west: v2",
        ),
        Step(
            "a rebalancer is merged",
            420,
            files_of(rebalancer("back", REFERENCE)),
            "east: v2, north: v2",
        ),
    ),
)
