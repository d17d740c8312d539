"""KubeFleet placements without bindings, all different, on the published benchmark's fleet."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from benchmarks.figure import Figure
from benchmarks.ratio_row import FRESH, QUESTIONS, SIZES, cold_time, mean_time, ratios
from reconciler.dialects.kubefleet.api.member import Member, Members, decode_member, members_of
from reconciler.dialects.kubefleet.scheduler.schedule import schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import Snapshot, decode_snapshot
from tests.conformance.direct.kubefleet import run_cycle

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


def policy(number: int, kind: str, question: int, *, topology: bool) -> dict[str, object]:
    """The policy of one of many placements, none of which asks what another one does.

    Each picks from the clusters that the published one picks from: it also accepts a region that
    is nowhere, and tolerates a taint that no cluster has.
    """
    regions = [*(f"r{region}" for region in range(10)), f"none-{question}"]
    among = {
        "matchLabels": {"env": "prod"},
        "matchExpressions": [{"key": "region", "operator": "In", "values": regions}],
    }
    affinity: dict[str, object] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "clusterSelectorTerms": [{"labelSelector": among}]
        }
    }
    fleet = {"key": "dedicated", "operator": "Equal", "value": "fleet", "effect": "NoSchedule"}
    wanted: dict[str, object] = {
        "placementType": kind,
        "tolerations": [fleet, {"key": f"own-{question}", "operator": "Exists"}],
        "affinity": {"clusterAffinity": affinity},
    }
    if kind == "PickN":
        sorter = {"name": "kubernetes-fleet.io/node-count", "sortOrder": "Descending"}
        labels = {"matchLabels": {"tier": f"t{question % 3}"}}
        preference = {"labelSelector": labels, "propertySorter": sorter}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": 20 + question, "preference": preference}
        ]
    if topology:
        wanted["topologySpreadConstraints"] = [
            {"topologyKey": "region", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        ]
    return {
        "metadata": {
            "name": f"crp-{question}-0",
            "generation": 1,
            "labels": {"kubernetes-fleet.io/parent-CRP": f"crp-{question}"},
            "annotations": {
                "kubernetes-fleet.io/CRP-generation": "1",
                "kubernetes-fleet.io/number-of-clusters": str(number + question % 3),
            },
        },
        "spec": {"policy": wanted},
    }


def figures() -> Iterator[Figure]:
    """Measure each placement type at each size, with policies that are all different."""
    for size in SIZES:
        for name, kind, run, topology in CASES:
            snapshots = [
                decode_snapshot(policy(size // 10, kind, question, topology=topology))
                for question in range(QUESTIONS)
            ]
            ask = partial(_ask, run)
            decode, index = partial(_decoded, size), partial(members_of, now=NOW)
            ours = mean_time(index(decode()), snapshots, ask, ready=id)
            cold = cold_time(decode, index, snapshots[:FRESH], ask, ready=id)
            question = f"KubeFleet {name}, distinct"
            yield from ratios(question, size, UPSTREAM[name][size], ours, cold)


def calls(count: Callable[[Callable[[], object]], int]) -> Iterator[tuple[str, int]]:
    """Yield what one question takes at a hundred clusters, as something counts it."""
    views = _decoded(100)
    for name, kind, run, topology in CASES:
        snapshot = decode_snapshot(policy(10, kind, 0, topology=topology))
        yield f"KubeFleet {name}", count(partial(_indexed, run, snapshot, views))


def _decoded(size: int) -> list[Member]:
    return [decode_member(cluster(number)) for number in range(size)]


def _indexed(run: Run, snapshot: Snapshot, views: Sequence[Member]) -> object:
    return _ask(run, snapshot, members_of(views, NOW))


def _ask(run: Run, snapshot: Snapshot, members: Members) -> object:
    return run(snapshot, (), members, NOW)
