"""A KubeFleet hub, as kubectl prints it."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.snapshots.policy_snapshots import encoded_hash
from reconciler.model.body import Body
from tests.imports.hubs import CLUSTERS, THEN, cluster_names, condition, live, workload

PLACEMENT = "placement.kubernetes-fleet.io/v1beta1"
LABEL = "kubernetes-fleet.io"
POLICY: Body = {"numberOfClusters": 2, "placementType": "PickN"}
STAGES = ("RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available")


def kubefleet_hub(count: int, policy: Body | None = POLICY) -> list[Body]:
    """Return a hub with so many placements of two clusters each, at their third policy.

    Without a policy they are on all clusters, as where no webhook writes the default one.
    """
    names = (f"apps-{number:04d}" for number in range(count))
    placed = (one for number, name in enumerate(names) for one in _placed(name, number, policy))
    return [*map(_cluster, cluster_names()), workload("web", 2), *placed]


def _cluster(name: str) -> Body:
    room = {"cpu": "64", "memory": "256Gi"}
    return live(
        "cluster.kubernetes-fleet.io/v1beta1",
        "MemberCluster",
        name,
        metadata={"finalizers": [f"{LABEL}/membercluster-finalizer"]},
        spec={
            "heartbeatPeriodSeconds": 60,
            "identity": {"kind": "ServiceAccount", "name": name, "namespace": "fleet-system"},
        },
        status={
            "agentStatus": [
                {
                    "type": "MemberAgent",
                    "lastReceivedHeartbeat": THEN,
                    "conditions": [condition("Joined"), condition("Healthy")],
                }
            ],
            "conditions": [condition("ReadyToJoin"), condition("Joined")],
            "properties": {
                "kubernetes-fleet.io/node-count": {"observationTime": THEN, "value": "3"}
            },
            "resourceUsage": {
                "allocatable": room,
                "available": {"cpu": "52", "memory": "225Gi"},
                "capacity": room,
                "observationTime": THEN,
            },
        },
    )


def _placed(name: str, number: int, policy: Body | None) -> Iterator[Body]:
    """Yield a placement, its snapshots and its bindings."""
    given = {} if policy is None else {"policy": policy}
    counted = {} if policy is None else {f"{LABEL}/number-of-clusters": "2"}
    yield live(
        PLACEMENT,
        "ClusterResourcePlacement",
        name,
        metadata={"finalizers": [f"{LABEL}/crp-cleanup"], "generation": 7},
        spec={
            **given,
            "resourceSelectors": [
                {"group": "", "kind": "Namespace", "name": "default", "version": "v1"}
            ],
            "revisionHistoryLimit": 10,
            "strategy": {"type": "RollingUpdate"},
        },
        status={"conditions": [condition("ClusterResourcePlacementScheduled")]},
    )
    two = {f"member{(number + step) % CLUSTERS + 1}" for step in (0, 4)}
    chosen = sorted(cluster_names() if policy is None else two)
    decided = [_decision(cluster) for cluster in chosen]
    yield live(
        PLACEMENT,
        "ClusterSchedulingPolicySnapshot",
        f"{name}-2",
        metadata={
            "labels": {
                f"{LABEL}/parent-CRP": name,
                f"{LABEL}/is-latest-snapshot": "true",
                f"{LABEL}/policy-index": "2",
            },
            "annotations": {f"{LABEL}/CRP-generation": "7", **counted},
            "generation": 1,
        },
        spec={**given, "policyHash": encoded_hash(policy)},
        status={
            "conditions": [
                condition("Scheduled", reason="SchedulingPolicyFulfilled", observedGeneration=1)
            ],
            "observedCRPGeneration": 7,
            "targetClusters": decided,
        },
    )
    yield _snapshot(name)
    for cluster, decision in zip(chosen, decided, strict=True):
        yield _binding(name, cluster, decision)


def _decision(cluster: str) -> Body:
    return {
        "clusterName": cluster,
        "clusterScore": {"affinityScore": 0, "priorityScore": 0},
        "reason": "Successfully scheduled resources for placement",
        "selected": True,
    }


def _snapshot(name: str) -> Body:
    """Return the resource snapshot in force, the sixth."""
    return live(
        PLACEMENT,
        "ClusterResourceSnapshot",
        f"{name}-5-snapshot",
        metadata={
            "labels": {
                f"{LABEL}/parent-CRP": name,
                f"{LABEL}/is-latest-snapshot": "true",
                f"{LABEL}/resource-index": "5",
            },
            "annotations": {
                f"{LABEL}/number-of-enveloped-object": "0",
                f"{LABEL}/number-of-resource-snapshots": "1",
                f"{LABEL}/resource-hash": "ab" * 32,
            },
        },
        spec={"selectedResources": [workload("web", 2)]},
    )


def _binding(name: str, cluster: str, decision: Body) -> Body:
    return live(
        PLACEMENT,
        "ClusterResourceBinding",
        f"{name}-{cluster}-{'4c1d9a70'}",
        metadata={
            "finalizers": [f"{LABEL}/scheduler-crb-cleanup", f"{LABEL}/work-cleanup"],
            "labels": {f"{LABEL}/parent-CRP": name},
            "generation": 2,
        },
        spec={
            "clusterDecision": decision,
            "resourceSnapshotName": f"{name}-5-snapshot",
            "schedulingPolicySnapshotName": f"{name}-2",
            "state": "Bound",
            "targetCluster": cluster,
        },
        status={"conditions": [condition(kind, observedGeneration=2) for kind in STAGES]},
    )
