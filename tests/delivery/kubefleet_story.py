"""KubeFleet: a cluster gets a taint, a rebalancer moves what is there, and moves it back."""

from tests.builders import Body, deployment, rebalancer
from tests.delivery.karmada_story import CONFIGURATION, healthy
from tests.delivery.story import DeliveryStory, Step, files_of
from tests.dialects.kubefleet.fleet import EAST, GROUP, PLACEMENT, member, pick, placement

NAMES = ("east", "west")
TAINT: Body = {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}
NEAR: Body = {
    "affinity": {
        "clusterAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 10, "preference": {"labelSelector": {"matchLabels": EAST}}}
            ]
        }
    }
}
SURGE: Body = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1, "unavailablePeriodSeconds": 1}}


def demand(name: str) -> dict[str, str]:
    """A rebalancer of the placement."""
    wanted = {"apiVersion": f"{GROUP}/v1beta1", "kind": PLACEMENT, "name": "web"}
    return files_of(rebalancer(name, wanted))


def reported(name: str) -> dict[str, str]:
    """What a cluster says once web runs."""
    return {f"feedback/{name}/web.yaml": healthy("web")}


KUBEFLEET = DeliveryStory(
    name="kubefleet",
    column="the folders that have web, with its replicas",
    files={
        "reconciler.yaml": CONFIGURATION,
        **files_of(
            member("east", labels=EAST),
            member("west"),
            placement(pick(1, **NEAR), strategy=SURGE),
            deployment(replicas=2),
        ),
    },
    clusters=NAMES,
    path="default/deployments.apps/web.yaml",
    fact=r"^  replicas: (\d+)$",
    steps=(
        Step("the placement is merged", 0, {}, "east: 2"),
        Step("east reports that it runs", 60, reported("east"), "east: 2"),
        Step(
            "east gets a taint; that moves nothing",
            120,
            files_of(member("east", labels=EAST, taints=[TAINT])),
            "east: 2",
        ),
        Step("a rebalancer is merged", 180, demand("away"), "east: 2, west: 2"),
        Step("west reports that it runs: east is left", 240, reported("west"), "west: 2"),
        Step(
            "east is back; that moves nothing",
            300,
            files_of(member("east", labels=EAST)),
            "west: 2",
        ),
        Step("a rebalancer is merged", 360, demand("back"), "east: 2"),
    ),
)
