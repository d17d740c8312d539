"""A Karmada control plane, as kubectl prints it."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.placement import applied_placement, decode_placement
from reconciler.model.body import Body
from tests.imports.hubs import THEN, cluster_names, condition, live, workload

REPLICAS = 4
PLACEMENT: Body = {
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
    return [*map(_cluster, cluster_names()), _policy(), *(o for n in names for o in _placed(n))]


def _cluster(name: str) -> Body:
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
            "placement": PLACEMENT,
            "preemption": "Never",
            "priority": 0,
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "schedulerName": "default-scheduler",
        },
    )


def _placed(name: str) -> Iterator[Body]:
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
                    decode_placement(PLACEMENT)
                ),
            },
        },
        spec={
            "clusters": [{"name": target, "replicas": REPLICAS}],
            "conflictResolution": "Abort",
            "placement": PLACEMENT,
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
