"""Plain fleets of each API: where no object depends on another one."""

from collections.abc import Mapping

from tests.builders import Body, rebalancer
from tests.core.cell_fleets import (
    KARMADA,
    KUBEFLEET,
    PER_CELL,
    CellFleet,
    Files,
    in_cell,
    labels,
    named,
    settings,
    target,
)
from tests.dialects.ocm.sets import replica_set
from tests.dialects.ocm.worlds import GROUP

STEADY: Body = {
    "mode": "Exact",
    "configurations": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}],
}


def cluster(cell: int, number: int, *taints: Body) -> Body:
    """A cluster of a cell."""
    mine = {**labels(cell), f"{GROUP}/clusterset": "s"}
    return named(
        "ManagedCluster", f"{GROUP}/v1", f"o{cell:03}-{number}", labels=mine,
        spec={"hubAcceptsClient": True, "taints": list(taints)},
    )  # fmt: skip


def placement(cell: int, number: int, wanted: int = 1) -> Body:
    """A placement that counts nobody else's decisions."""
    return named(
        "Placement", f"{GROUP}/v1beta1", f"p{cell:03}-{number}", "ns1",
        spec={
            "numberOfClusters": wanted,
            "prioritizerPolicy": STEADY,
            "predicates": [{"requiredClusterSelector": {"labelSelector": in_cell(cell)}}],
        },
    )  # fmt: skip


def ocm(cells: int) -> Files:
    """Open Cluster Management's, with one set of ManifestWorks."""
    binding = {"spec": {"clusterSet": "s"}}
    files: dict[str, Body] = {
        "reconciler.yaml": settings(),
        "set.yaml": named("ManagedClusterSet", f"{GROUP}/v1beta2", "s", spec={}),
        "bound.yaml": named("ManagedClusterSetBinding", f"{GROUP}/v1beta2", "s", "ns1", **binding),
        "shop.yaml": replica_set(placements=["p001-1"]),
    }
    for cell in range(cells):
        for number in (0, 1):
            files[f"clusters/{cell}-{number}.yaml"] = cluster(cell, number)
        for number in range(PER_CELL):
            files[f"placements/{cell}/{number}.yaml"] = placement(cell, number)
    return files


OCM = CellFleet(
    ocm,
    {
        "placement": {"placements/1/1.yaml": placement(1, 1, wanted=2)},
        "taint": {"clusters/1-0.yaml": cluster(1, 0, {"key": "k", "effect": "NoSelect"})},
        "rebalancer": {
            "r.yaml": rebalancer("r", target(f"{GROUP}/v1beta1", "Placement", "p001-1", "ns1"))
        },
        "template": {"shop.yaml": replica_set(placements=["p001-1", "p001-2"])},
    },
)

PLAIN: Mapping[str, CellFleet] = {"karmada": KARMADA, "ocm": OCM, "kubefleet": KUBEFLEET}
