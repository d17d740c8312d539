"""Time of KubeFleet's scheduler on fleets of 100, 1000 and 5000: `python -m benchmarks...`."""

import time
from datetime import UTC, datetime

from reconciler.dialects.kubefleet.api.clusters import decode_member, members_of
from reconciler.dialects.kubefleet.scheduler.schedule import run_cycle, schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import decode_snapshot

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


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


def main() -> None:
    cases = (("PickN", True), ("PickN", False), ("PickAll", False))
    for size in (100, 1000, 5000):
        views = [decode_member(cluster(number)) for number in range(size)]
        for kind, topology in cases:
            snapshot = decode_snapshot(policy(size // 10, kind, topology=topology))
            for name, run in (("cycle", run_cycle), ("settle", schedule)):
                members = members_of(views, NOW)
                started = time.perf_counter()
                result = run(snapshot, (), members, NOW)
                took = 1000 * (time.perf_counter() - started)
                print(
                    f"{size:5} {kind} topology={topology} {name}: {took:.2f} ms, "
                    f"{len(result.bindings)} bindings, {len(result.records)} cycles"
                )


if __name__ == "__main__":
    main()
