"""Karmada's evictions through the front door; scheduling is suspended, so that they stand alone."""

from collections.abc import Iterable
from typing import cast

from reconciler.manifests.admission import SUSPEND
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.door.door import LeftOut, configuration, field, items, not_later, walk_in
from tests.conformance.door.karmada import APPLIED, binding_after
from tests.conformance.door.karmada_files import cluster_of, last_binding, policy_of, workload_of
from tests.conformance.judgements import forgives

SUSPENDED = {"scheduling": True}
UPDATED = 3
LONG = 10**8  # seconds, so that no eviction ends while it is compared


def check_taints(case: Body) -> str | None:
    """Compare the clusters that stay, the tasks and the next look."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = field(given, "binding")
    clusters = [cluster_of(cluster) for cluster in items(given, "clusters")]
    applied = str(field(binding, "metadata", "annotations").get(APPLIED, ""))
    _refuse_undated(clusters, applied)
    failover: dict[str, object] = {
        "defaultTolerationSeconds": None,
        "gracefulEvictionTimeoutSeconds": LONG,
    }
    failover["enabled"] = given.get("enableNoExecuteTaintEviction") is not False
    if given.get("noExecuteTaintEvictionPurgeMode"):
        failover["purgeMode"] = given["noExecuteTaintEvictionPurgeMode"]
    workload = workload_of(binding)
    passed = walk_in(
        [configuration(karmada={"failover": failover}), *clusters, _held(binding), workload],
        [_suspended(last_binding(binding, workload))],
        parse_moment(str(given["now"])),
    )
    found = binding_after(passed, workload)
    decisions = cast(dict[str, dict[str, int]], expected["decisions"]).values()
    waits = [item["seconds"] for item in decisions if "seconds" in item]
    actual = {
        "clusters": [_target(item) for item in items(found, "spec", "clusters")],
        "gracefulEvictionTasks": _undated(items(found, "spec", "gracefulEvictionTasks")),
    }
    wanted = {
        "clusters": expected["clusters"],
        "gracefulEvictionTasks": _undated(items(expected, "gracefulEvictionTasks")),
    }
    return first_difference(wanted, actual) or not_later(
        "karmada/taints", min(waits, default=None), passed.seconds
    )


def _target(item: Body) -> Body:
    return {"name": item["name"], "replicas": item.get("replicas", 0)}


def _undated(tasks: Iterable[Body]) -> list[object]:
    """The tasks before graceful eviction dates them, which a pass does, too."""
    return [
        {key: value for key, value in task.items() if key != "creationTimestamp"} for task in tasks
    ]


def _refuse_undated(clusters: Iterable[Body], applied: str) -> None:
    taints = [taint for cluster in clusters for taint in items(cluster, "spec", "taints")]
    undated = any(t["effect"] == "NoExecute" and "timeAdded" not in t for t in taints)
    if undated and "tolerationSeconds" in applied:
        raise LeftOut("undated-taint")


def _held(binding: Body) -> Body:
    policy = policy_of(binding)
    metadata = {**field(policy, "metadata"), "annotations": {SUSPEND: "true"}}
    return {**policy, "metadata": metadata}


def _suspended(binding: Body) -> Body:
    return {**binding, "spec": {**field(binding, "spec"), "suspension": SUSPENDED}}


def check_graceful(case: Body) -> str | None:
    """Compare the tasks that stay, and the next look."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = field(given, "binding")
    workload = workload_of(binding)
    targets = [str(item["name"]) for item in items(binding, "spec", "clusters")]
    tasks = items(binding, "spec", "gracefulEvictionTasks")
    names = {*targets, *(str(task["fromCluster"]) for task in tasks)}
    timeout = {"gracefulEvictionTimeoutSeconds": given["gracefulEvictionTimeoutSeconds"]}
    passed = walk_in(
        [
            configuration(karmada={"failover": timeout}),
            *(cluster_of(_cluster(name)) for name in sorted(names)),
            _held(binding),
            workload,
        ],
        [_suspended(last_binding(binding, workload))],
        parse_moment(str(given["now"])),
        reports={
            str(item["clusterName"]): _report(workload, str(item["health"]))
            for item in items(binding, "status", "aggregatedStatus")
        },
    )
    found = binding_after(passed, workload)
    actual = list(items(found, "spec", "gracefulEvictionTasks"))
    wait = int(str(expected["requeueAfterSeconds"]))
    spare = 1 if forgives("karmada/gracefuleviction", "the last second") else 0
    end = wait + spare if wait else None
    return first_difference(
        expected["gracefulEvictionTasks"], actual, ".gracefulEvictionTasks"
    ) or not_later("karmada/gracefuleviction", end, passed.seconds)


def _cluster(name: str) -> Body:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push"},
    }


def _report(workload: Body, health: str) -> Body:
    available = UPDATED if health == "Healthy" else 0
    status = {
        "observedGeneration": 1,
        "updatedReplicas": UPDATED,
        "availableReplicas": available,
    }
    metadata = {**field(workload, "metadata"), "generation": 1}
    return {**workload, "metadata": metadata, "spec": {"replicas": UPDATED}, "status": status}
