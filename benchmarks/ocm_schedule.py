"""One run of the OCM scheduler, on the fleet of the published benchmark."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.figure import Figure
from benchmarks.ratio_row import SIZES, measure, ratios
from reconciler.dialects.ocm.api.cluster_sets import ClusterSet, SetBinding
from reconciler.dialects.ocm.api.clusters import ManagedCluster, decode_cluster, members_of
from reconciler.dialects.ocm.api.placement import Placement, decode_placement
from reconciler.dialects.ocm.api.placement_decision import DecisionObject
from reconciler.dialects.ocm.decisions.placement_decisions import DecisionsSoFar, decided_by
from reconciler.dialects.ocm.decisions.sync import Hub, judge
from reconciler.dialects.ocm.scheduler.request import PluginReport
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.moments import parse_moment

NOW = parse_moment("2026-11-20T12:00:00Z")
GROUP = "cluster.open-cluster-management.io"
UPSTREAM = {
    "": {100: 0.83, 1000: 7.3, 5000: 44},
    ", no predicate": {100: 0.15, 1000: 2.8, 5000: 15},
}
"""Milliseconds."""


def name(i: int) -> ClusterName:
    return ClusterName(f"cluster-{i:05d}")


def cluster(i: int) -> Body:
    amounts = {"cpu": 1 + i * 7919 % 64, "memory": f"{4 + i * 104729 % 253}Gi"}
    taint = {
        "key": "maintenance",
        "value": "true",
        "effect": "NoSelect",
        "timeAdded": "2026-11-20T11:00:00Z",
    }
    labels = {f"{GROUP}/clusterset": "s1", "env": "prod" if i % 4 else "dev", "region": f"r{i % 5}"}
    claims = {"platform": "AWS", "id.k8s.io": name(i)}
    return {
        "metadata": {"name": name(i), "labels": labels},
        "spec": {"taints": [taint] if i % 10 == 1 else []},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "clusterClaims": [{"name": key, "value": value} for key, value in claims.items()],
        },
    }


def placement(n: int) -> Placement:
    add_on = {"resourceName": "metrics", "scoreName": "cpuratio"}
    coordinates = [
        {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"},
        {"type": "AddOn", "addOn": add_on},
    ]
    selector = {"labelSelector": {"matchLabels": {"env": "prod"}}}
    spec = {
        "numberOfClusters": n // 10,
        "predicates": [{"requiredClusterSelector": selector}],
        "tolerations": [{"key": "maintenance", "operator": "Exists"}],
        "prioritizerPolicy": {"configurations": [{"scoreCoordinate": c} for c in coordinates]},
    }
    return decode_placement({"metadata": {"name": "p", "namespace": "ns1"}, "spec": spec})


def decisions(owner: str, names: Sequence[ClusterName]) -> Iterator[DecisionObject]:
    labels = ((f"{GROUP}/placement", owner),)
    for page in range(0, len(names), 100):
        listed = tuple(names[page : page + 100])
        yield DecisionObject("ns1", f"{owner}-decision-{page // 100 + 1}", labels, listed)


def standing(n: int) -> DecisionsSoFar:
    """What the placement and ten others have decided so far."""
    others = (
        item
        for q in range(10)
        for item in decisions(f"q{q}", [name((i * (q + 1) + q) % n) for i in range(n // 10)])
    )
    return decided_by([*decisions("p", [name(3 * i + 1) for i in range(n // 10)]), *others])


def hub(views: Sequence[ManagedCluster]) -> Hub:
    """All that the placement is decided from, indexed."""
    return Hub(
        members=members_of(views),
        sets={"s1": ClusterSet("s1")},
        bindings={"ns1": (SetBinding("ns1", "s1", "s1"),)},
        reports={
            (name(i), "metrics"): PluginReport({"memratio": 1, "cpuratio": i * 31 % 201 - 100})
            for i in range(len(views))
        },
    )


def figures() -> Iterator[Figure]:
    """Measure with and without the predicate; the grouping of decisions is included."""
    for n in SIZES:
        views = [decode_cluster(cluster(i)) for i in range(n)]
        decided, wanted = standing(n), placement(n)
        for title, asked in (
            ("", wanted),
            (", no predicate", replace(wanted, predicates=())),
        ):
            times = measure(partial(hub, views), partial(_ask, asked, decided))
            yield from ratios(f"OCM{title}", n, UPSTREAM[title][n], *times)


def calls(count: Callable[[Callable[[], object]], int]) -> Iterator[tuple[str, int]]:
    """Yield what one run takes at a hundred clusters, as something counts it."""
    views = [decode_cluster(cluster(i)) for i in range(100)]
    decided, wanted = standing(100), placement(100)
    for title, asked in (("", wanted), (", no predicate", replace(wanted, predicates=()))):
        yield f"OCM{title}", count(partial(_indexed, asked, decided, views))


def _indexed(wanted: Placement, decided: DecisionsSoFar, views: Sequence[ManagedCluster]) -> object:
    return _ask(wanted, decided, hub(views))


def _ask(wanted: Placement, decided: DecisionsSoFar, hub: Hub) -> object:
    return judge(wanted, hub, decided, NOW)
