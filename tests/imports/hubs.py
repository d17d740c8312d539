"""Exports of live control planes of each API, object by object."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.core.dialects import KINDS
from reconciler.dialects.karmada.api.placement import applied_placement, decode_placement
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import encoded_hash
from reconciler.imports.export import LiveObject
from reconciler.manifests.identity import namespace_for
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, group_of

THEN = "2026-01-05T08:00:00Z"
CLUSTERS = 10


def live(api_version: str, kind: str, name: str, **parts: object) -> dict[str, object]:
    """Return an object with the fields that a server makes."""
    namespace = parts.pop("namespace", None)
    metadata = parts.pop("metadata", {})
    assert isinstance(metadata, Mapping)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "uid": f"00000000-0000-4000-8000-{abs(hash((kind, name))) % 10**12:012d}",
            "resourceVersion": "48151623",
            "generation": 3,
            "creationTimestamp": THEN,
            "managedFields": [{"manager": "kubectl", "operation": "Update", "time": THEN}],
            **metadata,
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                **metadata.get("annotations", {}),
            },
        },
        **parts,
    }


def condition(type_: str, **fields: object) -> Body:
    """Return a condition that holds."""
    return {
        "type": type_,
        "status": "True",
        "reason": "AsItShould",
        "message": "all is well",
        "lastTransitionTime": THEN,
        **fields,
    }


def objects(bodies: Sequence[Body]) -> tuple[LiveObject, ...]:
    """Return bodies as the objects of an export."""
    return tuple(LiveObject(key_of(body), body) for body in bodies)


def key_of(body: Body) -> ObjectKey:
    """Return the key of an object."""
    metadata = body["metadata"]
    assert isinstance(metadata, Mapping)
    group, kind = group_of(str(body["apiVersion"])), str(body["kind"])
    namespace = namespace_for(group, kind, metadata.get("namespace", ""), KINDS.scopes)
    return ObjectKey(group, kind, namespace, metadata["name"])


def workload(name: str, replicas: int, **metadata: object) -> Body:
    """Return a Deployment as a control plane has it."""
    container = {"name": "main", "image": "example/web:1", "imagePullPolicy": "Always"}
    return live(
        "apps/v1",
        "Deployment",
        name,
        namespace="default",
        metadata=metadata,
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"creationTimestamp": None, "labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
        status={"replicas": 0},
    )


def cluster_names() -> Iterator[str]:
    """Yield the names of the clusters."""
    return (f"member{number}" for number in range(1, CLUSTERS + 1))


REPLICAS = 4
APPLIED_PLACEMENT: Body = {
    "clusterAffinity": {"clusterNames": list(cluster_names())},
    "clusterTolerations": [
        {
            "effect": "NoExecute",
            "key": f"cluster.karmada.io/{reason}",
            "operator": "Exists",
            "tolerationSeconds": 300,
        }
        for reason in ("not-ready", "unreachable")
    ],
    "replicaScheduling": {
        "replicaDivisionPreference": "Weighted",
        "replicaSchedulingType": "Divided",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}
CLAIM = {
    "propagationpolicy.karmada.io/name": "all",
    "propagationpolicy.karmada.io/namespace": "default",
}
PERMANENT = {"propagationpolicy.karmada.io/permanent-id": "5f4dcc3b-5aa7-45d6-8d83-27deb882cf99"}


def karmada_hub(count: int) -> list[Body]:
    """Return a control plane with so many workloads; each has its policy's binding."""
    names = [f"web-{number:04d}" for number in range(count)]
    return [
        *map(_karmada_cluster, cluster_names()),
        _policy(),
        *(o for n in names for o in _karmada_placed(n)),
    ]


def _karmada_cluster(name: str) -> Body:
    return live(
        "cluster.karmada.io/v1alpha1",
        "Cluster",
        name,
        spec={
            "apiEndpoint": f"https://{name}.example.com:6443",
            "id": "6a1f",
            "secretRef": {"namespace": "karmada-cluster", "name": name},
            "syncMode": "Push",
        },
        status={
            "kubernetesVersion": "v1.31.2",
            "apiEnablements": [
                {
                    "groupVersion": "apps/v1",
                    "resources": [{"kind": "Deployment", "name": "deployments"}],
                }
            ],
            "conditions": [condition("Ready", lastProbeTime=THEN)],
            "nodeSummary": {"totalNum": 3, "readyNum": 3},
            "resourceSummary": {
                "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "330"},
                "allocated": {"cpu": "12", "memory": "31Gi", "pods": "97"},
            },
        },
    )


def _policy() -> Body:
    return live(
        "policy.karmada.io/v1alpha1",
        "PropagationPolicy",
        "all",
        namespace="default",
        metadata={"labels": PERMANENT, "finalizers": ["karmada.io/propagation-policy-controller"]},
        spec={
            "conflictResolution": "Abort",
            "placement": APPLIED_PLACEMENT,
            "preemption": "Never",
            "priority": 0,
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "schedulerName": "default-scheduler",
        },
    )


def _karmada_placed(name: str) -> Iterator[Body]:
    """Yield a workload, and its binding: all of it is on one cluster."""
    template = workload(name, REPLICAS, labels=PERMANENT, annotations=CLAIM)
    yield template
    target = f"member{int(name[-4:]) % 10 + 1}"
    yield live(
        "work.karmada.io/v1alpha2",
        "ResourceBinding",
        f"{name}-deployment",
        namespace="default",
        metadata={
            "labels": PERMANENT,
            "finalizers": ["karmada.io/binding-controller"],
            "annotations": {
                **CLAIM,
                "policy.karmada.io/applied-placement": applied_placement(
                    decode_placement(APPLIED_PLACEMENT)
                ),
            },
        },
        spec={
            "clusters": [{"name": target, "replicas": REPLICAS}],
            "conflictResolution": "Abort",
            "placement": APPLIED_PLACEMENT,
            "replicas": REPLICAS,
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": name,
                "namespace": "default",
                "resourceVersion": "4815",
                "uid": "00000000-0000-4000-8000-000000000042",
            },
            "schedulerName": "default-scheduler",
        },
        status={
            "schedulerObservedGeneration": 3,
            "lastScheduledTime": THEN,
            "conditions": [condition("Scheduled"), condition("FullyApplied")],
            "aggregatedStatus": [
                {"applied": True, "clusterName": target, "health": "Healthy", "status": {}}
            ],
        },
    )


PLACEMENT = "placement.kubernetes-fleet.io/v1beta1"
LABEL = "kubernetes-fleet.io"
POLICY: Body = {"numberOfClusters": 2, "placementType": "PickN"}
STAGES = ("RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available")


def kubefleet_hub(count: int, policy: Body | None = POLICY) -> list[Body]:
    """Return a hub with so many placements of two clusters each, at their third policy.

    Without a policy they are on all clusters, as where no webhook writes the default one.
    """
    names = (f"apps-{number:04d}" for number in range(count))
    placed = (
        one for number, name in enumerate(names) for one in _kubefleet_placed(name, number, policy)
    )
    return [*map(_member_cluster, cluster_names()), workload("web", 2), *placed]


def _member_cluster(name: str) -> Body:
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


def _kubefleet_placed(name: str, number: int, policy: Body | None) -> Iterator[Body]:
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


GROUP = "cluster.open-cluster-management.io"


def ocm_hub(count: int) -> list[Body]:
    """Return a hub with so many placements of two clusters each."""
    sets = [
        live(f"{GROUP}/v1beta2", "ManagedClusterSet", "global", spec=_everything()),
        live(
            f"{GROUP}/v1beta2",
            "ManagedClusterSetBinding",
            "global",
            namespace="default",
            spec={"clusterSet": "global"},
            status={"conditions": [condition("Bound")]},
        ),
    ]
    placed = (one for number in range(count) for one in _ocm_placed(number))
    return [*map(_managed_cluster, cluster_names()), *sets, *placed]


def _everything() -> Body:
    return {"clusterSelector": {"labelSelector": {}, "selectorType": "LabelSelector"}}


def _managed_cluster(name: str) -> Body:
    room = {"cpu": "64", "memory": "256Gi", "pods": "330"}
    return live(
        f"{GROUP}/v1",
        "ManagedCluster",
        name,
        metadata={"labels": {"feature.open-cluster-management.io/addon-work-manager": "available"}},
        spec={
            "hubAcceptsClient": True,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": f"https://{name}.example.com:6443"}],
        },
        status={
            "allocatable": room,
            "capacity": room,
            "clusterClaims": [{"name": "id.k8s.io", "value": name}],
            "conditions": [
                condition(f"{kind}")
                for kind in ("HubAcceptedManagedCluster", "ManagedClusterJoined")
            ]
            + [condition("ManagedClusterConditionAvailable")],
            "version": {"kubernetes": "v1.31.2"},
        },
    )


def _ocm_placed(number: int) -> Iterator[Body]:
    """Yield a placement and its decision."""
    name = f"apps-{number:04d}"
    chosen = sorted({f"member{(number + step) % CLUSTERS + 1}" for step in (0, 3)})
    decision = f"{name}-decision-1"
    yield live(
        f"{GROUP}/v1beta1",
        "Placement",
        name,
        namespace="default",
        spec={"clusterSets": ["global"], "numberOfClusters": 2},
        status={
            "conditions": [
                condition("PlacementSatisfied", reason="AllDecisionsScheduled"),
                condition("PlacementMisconfigured", status="False", reason="Succeedconfigured"),
            ],
            "decisionGroups": [
                {
                    "clusterCount": 2,
                    "decisionGroupIndex": 0,
                    "decisionGroupName": "",
                    "decisions": [decision],
                }
            ],
            "numberOfSelectedClusters": 2,
        },
    )
    yield live(
        f"{GROUP}/v1beta1",
        "PlacementDecision",
        decision,
        namespace="default",
        metadata={
            "labels": {
                f"{GROUP}/decision-group-index": "0",
                f"{GROUP}/decision-group-name": "",
                f"{GROUP}/placement": name,
            }
        },
        status={"decisions": [{"clusterName": cluster, "reason": ""} for cluster in chosen]},
    )
