"""Runs of the OCM scheduler, all different, on the fleet of the published benchmark."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks.figure import Figure
from benchmarks.ratio_row import FRESH, QUESTIONS, SIZES, cold_time, mean_time, ratios
from reconciler.dialects.ocm.api.cluster import (
    ClusterSet,
    ManagedCluster,
    SetBinding,
    decode_cluster,
    members_of,
)
from reconciler.dialects.ocm.api.placement import DecisionObject, Placement, decode_placement
from reconciler.dialects.ocm.scheduler.schedule import DecisionsSoFar, Hub, decided_by, judge
from reconciler.dialects.scores import Reports, ScoreReport
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


def placement(n: int, question: int, *, predicate: bool = True) -> Placement:
    """One of many placements, none of which asks what another one does.

    With a predicate no two may choose from the same clusters: each leaves another one out.
    """
    add_on = {"resourceName": "metrics", "scoreName": "cpuratio"}
    coordinates = [
        ({"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}, 1 + question % 3),
        ({"type": "AddOn", "addOn": add_on}, 1 + question),
    ]
    claim = {"key": "id.k8s.io", "operator": "NotIn", "values": [name(question)]}
    selector = {
        "labelSelector": {"matchLabels": {"env": "prod"}},
        "claimSelector": {"matchExpressions": [claim]},
    }
    spec = {
        "numberOfClusters": n // 10 + question % 3,
        "predicates": [{"requiredClusterSelector": selector}] if predicate else [],
        "tolerations": [
            {"key": "maintenance", "operator": "Exists"},
            {"key": f"own-{question}", "operator": "Exists"},
        ],
        "prioritizerPolicy": {
            "configurations": [{"scoreCoordinate": c, "weight": w} for c, w in coordinates]
        },
    }
    metadata = {"name": f"p{question}", "namespace": "ns1"}
    return decode_placement({"metadata": metadata, "spec": spec})


def decisions(owner: str, names: Sequence[ClusterName]) -> Iterator[DecisionObject]:
    labels = ((f"{GROUP}/placement", owner),)
    for page in range(0, len(names), 100):
        listed = tuple(names[page : page + 100])
        yield DecisionObject("ns1", f"{owner}-decision-{page // 100 + 1}", labels, listed)


def of_others(n: int) -> DecisionsSoFar:
    """What ten other placements have decided so far."""
    return decided_by(
        item
        for q in range(10)
        for item in decisions(f"q{q}", [name((i * (q + 1) + q) % n) for i in range(n // 10)])
    )


def decide(decided: DecisionsSoFar, n: int, asked: Placement) -> None:
    """Put what a placement has decided so far in place of what any other of ours had."""
    for question in range(QUESTIONS):
        decided.put(("ns1", f"p{question}"), ())
    first = int(asked.name.removeprefix("p"))
    own = [name((3 * i + 1 + first) % n) for i in range(n // 10)]
    decided.put(("ns1", asked.name), tuple(decisions(asked.name, own)))


def reports_of(n: int) -> Reports:
    """What the add-on reports of each cluster."""
    return {
        (name(i), "metrics"): ScoreReport({"memratio": 1, "cpuratio": i * 31 % 201 - 100})
        for i in range(n)
    }


def hub(views: Sequence[ManagedCluster], reports: Reports) -> Hub:
    """All that the placement is decided from, indexed."""
    return Hub(
        members=members_of(views),
        sets={"s1": ClusterSet("s1")},
        bindings={"ns1": (SetBinding("ns1", "s1", "s1"),)},
        reports=reports,
    )


def figures() -> Iterator[Figure]:
    """Measure with and without the predicate; the grouping of decisions is included."""
    for n in SIZES:
        decided, reports = of_others(n), reports_of(n)
        ask, ready = partial(_ask, decided), partial(decide, decided, n)
        for title, upstream in UPSTREAM.items():
            asked = [placement(n, q, predicate=not title) for q in range(QUESTIONS)]
            ours = mean_time(hub(_decoded(n), reports), asked, ask, ready)
            index = partial(hub, reports=reports)
            cold = cold_time(partial(_decoded, n), index, asked[:FRESH], ask, ready)
            yield from ratios(f"OCM{title}, distinct", n, upstream[n], ours, cold)


def calls(count: Callable[[Callable[[], object]], int]) -> Iterator[tuple[str, int]]:
    """Yield what one run takes at a hundred clusters, as something counts it."""
    views, decided, reports = _decoded(100), of_others(100), reports_of(100)
    for title in UPSTREAM:
        asked = placement(100, 0, predicate=not title)
        decide(decided, 100, asked)
        yield f"OCM{title}", count(partial(_indexed, decided, asked, views, reports))


def _decoded(n: int) -> list[ManagedCluster]:
    return [decode_cluster(cluster(i)) for i in range(n)]


def _indexed(
    decided: DecisionsSoFar, wanted: Placement, views: Sequence[ManagedCluster], reports: Reports
) -> object:
    return _ask(decided, wanted, hub(views, reports))


def _ask(decided: DecisionsSoFar, wanted: Placement, hub: Hub) -> object:
    return judge(wanted, hub, decided, NOW)
