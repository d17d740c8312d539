"""One KubeFleet placement without bindings, on the fleet of the published benchmark."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from benchmarks.figure import Figure
from benchmarks.ratio_row import SIZES, measure, ratios
from reconciler.dialects.kubefleet.api.clusters import (
    Member,
    Members,
    decode_member,
    members_of,
)
from reconciler.dialects.kubefleet.scheduler.schedule import schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot, decode_snapshot
from tests.conformance.direct.kubefleet_cycle import run_cycle

Run = Callable[..., object]
"""A cycle, or all cycles."""

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CASES: tuple[tuple[str, str, Run, bool], ...] = (
    ("PickN", "PickN", run_cycle, False),
    ("PickAll", "PickAll", run_cycle, False),
    ("topology, one cycle", "PickN", run_cycle, True),
    ("topology, settled", "PickN", schedule, True),
)
UPSTREAM = {
    "PickN": {100: 0.55, 1000: 3.9, 5000: 21.3},
    "PickAll": {100: 0.66, 1000: 4.8, 5000: 24.4},
    "topology, one cycle": {100: 0.54, 1000: 3.9, 5000: 17.1},
    "topology, settled": {100: 5.6, 1000: 440, 5000: 9352},
}
"""Milliseconds."""


def cluster(number: int) -> dict[str, object]:
    since = {"status": "True", "lastTransitionTime": "2026-03-01T11:00:00Z"}
    taints = [{"key": "dedicated", "value": "fleet", "effect": "NoSchedule"}] * (number % 5 == 0)
    taints += [{"key": "maintenance", "value": "yes", "effect": "NoSchedule"}] * (number % 17 == 0)
    env = "dev" if number % 4 == 3 else "prod"
    return {
        "metadata": {
            "name": f"cluster-{number:05d}",
            "labels": {"env": env, "region": f"r{number % 10}", "tier": f"t{number % 3}"},
        },
        "spec": {"taints": taints},
        "status": {
            "properties": {"kubernetes-fleet.io/node-count": {"value": str(number % 50)}},
            "agentStatus": [
                {
                    "type": "MemberAgent",
                    "conditions": [{"type": "Joined", **since}, {"type": "Healthy", **since}],
                    "lastReceivedHeartbeat": "2026-03-01T11:59:30Z",
                }
            ],
        },
    }


def policy(number: int, kind: str, *, topology: bool) -> dict[str, object]:
    terms = [{"labelSelector": {"matchLabels": {"env": "prod"}}}]
    affinity: dict[str, object] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}
    }
    wanted: dict[str, object] = {
        "placementType": kind,
        "tolerations": [
            {"key": "dedicated", "operator": "Equal", "value": "fleet", "effect": "NoSchedule"}
        ],
        "affinity": {"clusterAffinity": affinity},
    }
    if kind == "PickN":
        sorter = {"name": "kubernetes-fleet.io/node-count", "sortOrder": "Descending"}
        labels = {"matchLabels": {"tier": "t1"}}
        preference = {"labelSelector": labels, "propertySorter": sorter}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": 20, "preference": preference}
        ]
    if topology:
        wanted["topologySpreadConstraints"] = [
            {"topologyKey": "region", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        ]
    return {
        "metadata": {
            "name": "crp-0",
            "generation": 1,
            "labels": {"kubernetes-fleet.io/parent-CRP": "crp"},
            "annotations": {
                "kubernetes-fleet.io/CRP-generation": "1",
                "kubernetes-fleet.io/number-of-clusters": str(number),
            },
        },
        "spec": {"policy": wanted},
    }


def figures() -> Iterator[Figure]:
    """Measure each placement type at each size."""
    for size in SIZES:
        views = [decode_member(cluster(number)) for number in range(size)]
        for name, kind, run, topology in CASES:
            snapshot = decode_snapshot(policy(size // 10, kind, topology=topology))
            times = measure(partial(members_of, views, NOW), partial(_ask, run, snapshot))
            yield from ratios(f"KubeFleet {name}", size, UPSTREAM[name][size], *times)


def calls(count: Callable[[Callable[[], object]], int]) -> Iterator[tuple[str, int]]:
    """Yield what one question takes at a hundred clusters, as something counts it."""
    views = [decode_member(cluster(number)) for number in range(100)]
    for name, kind, run, topology in CASES:
        snapshot = decode_snapshot(policy(10, kind, topology=topology))
        yield f"KubeFleet {name}", count(partial(_indexed, run, snapshot, views))


def _indexed(run: Run, snapshot: Snapshot, views: Sequence[Member]) -> object:
    return _ask(run, snapshot, members_of(views, NOW))


def _ask(run: Run, snapshot: Snapshot, members: Members) -> object:
    return run(snapshot, (), members, NOW)
