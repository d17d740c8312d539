"""Which kinds are namespaced, and the plural of each kind that we write.

A table for what Kubernetes and the three APIs ship; CRDs of the repository extend it; of any other
kind the manifest itself decides.
"""

from collections.abc import Iterable, Mapping

from reconciler.model.world import Body

DEFAULT_NAMESPACE = "default"

_CLUSTER_SCOPED = {
    "": ("ComponentStatus", "Namespace", "Node", "PersistentVolume"),
    "admissionregistration.k8s.io": (
        "MutatingAdmissionPolicy",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "apiregistration.k8s.io": ("APIService",),
    "apps.karmada.io": ("WorkloadRebalancer",),
    "certificates.k8s.io": ("CertificateSigningRequest", "ClusterTrustBundle"),
    "cluster.karmada.io": ("Cluster",),
    "cluster.kubernetes-fleet.io": ("MemberCluster",),
    "cluster.open-cluster-management.io": ("ManagedCluster", "ManagedClusterSet"),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io": ("IngressClass", "IPAddress", "ServiceCIDR"),
    "node.k8s.io": ("RuntimeClass",),
    "placement.kubernetes-fleet.io": (
        "ClusterResourceBinding",
        "ClusterResourcePlacement",
        "ClusterResourceSnapshot",
        "ClusterSchedulingPolicySnapshot",
    ),
    "policy.karmada.io": (
        "ClusterOverridePolicy",
        "ClusterPropagationPolicy",
        "ClusterTaintPolicy",
        "ScheduleTrigger",
    ),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding"),
    "reconciler.dev": ("FaultReport", "ReconcilerConfiguration", "ReconcilerStatus"),
    "resource.k8s.io": ("DeviceClass", "ResourceSlice"),
    "scheduling.k8s.io": ("PriorityClass",),
    "storage.k8s.io": ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"),
    "work.karmada.io": ("ClusterResourceBinding",),
}

_NAMESPACED = {
    "": (
        "ConfigMap",
        "Endpoints",
        "Event",
        "LimitRange",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
    ),
    "apps": ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "autoscaling": ("HorizontalPodAutoscaler",),
    "batch": ("CronJob", "Job"),
    "cluster.open-cluster-management.io": (
        "AddOnPlacementScore",
        "ManagedClusterSetBinding",
        "Placement",
        "PlacementDecision",
    ),
    "coordination.k8s.io": ("Lease",),
    "discovery.k8s.io": ("EndpointSlice",),
    "events.k8s.io": ("Event",),
    "networking.k8s.io": ("Ingress", "NetworkPolicy"),
    "placement.kubernetes-fleet.io": ("Work",),
    "policy": ("PodDisruptionBudget",),
    "policy.karmada.io": ("FederatedResourceQuota", "OverridePolicy", "PropagationPolicy"),
    "rbac.authorization.k8s.io": ("Role", "RoleBinding"),
    "storage.k8s.io": ("CSIStorageCapacity",),
    "work.karmada.io": ("ResourceBinding", "Work"),
}

BUILT_IN: Mapping[tuple[str, str], bool] = {
    (group, kind): namespaced
    for namespaced, table in ((False, _CLUSTER_SCOPED), (True, _NAMESPACED))
    for group, kinds in table.items()
    for kind in kinds
}
"""(group, kind) to whether it is namespaced."""

PLURALS: Mapping[str, str] = {
    "Cluster": "clusters",
    "ClusterResourceBinding": "clusterresourcebindings",
    "ManagedCluster": "managedclusters",
    "Placement": "placements",
    "PlacementDecision": "placementdecisions",
    "ClusterResourcePlacement": "clusterresourceplacements",
    "ClusterResourceSnapshot": "clusterresourcesnapshots",
    "ClusterSchedulingPolicySnapshot": "clusterschedulingpolicysnapshots",
    "ResourceBinding": "resourcebindings",
    "ScheduleTrigger": "scheduletriggers",
    "WorkloadRebalancer": "workloadrebalancers",
}
"""Plural of each kind that has a file below the output root."""

CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


def scopes_of_crds(definitions: Iterable[Body]) -> dict[tuple[str, str], bool]:
    """Return (group, kind) to whether it is namespaced, for CRDs that say all three.

    Definitions that leave something out are skipped: a CRD is a workload like any other, and its
    own faults are its API server's to judge.
    """
    scopes: dict[tuple[str, str], bool] = {}
    for body in definitions:
        spec = body.get("spec")
        names = spec.get("names") if isinstance(spec, Mapping) else None
        if not isinstance(spec, Mapping) or not isinstance(names, Mapping):
            continue
        group, kind, scope = spec.get("group"), names.get("kind"), spec.get("scope")
        if isinstance(group, str) and isinstance(kind, str) and scope in ("Namespaced", "Cluster"):
            scopes[group, kind] = scope == "Namespaced"
    return scopes


def namespace_for(
    group: str, kind: str, written: str, scopes: Mapping[tuple[str, str], bool]
) -> str:
    """Return the namespace of an object: `""` if its kind is cluster-scoped.

    Args:
        group: API group.
        kind: Kind.
        written: `metadata.namespace` as written, `""` if absent.
        scopes: Scopes that CRDs of the repository add; the built-in table comes first.

    >>> namespace_for("apps", "Deployment", "", {})
    'default'
    >>> namespace_for("example.org", "Widget", "", {})
    ''
    """
    namespaced = BUILT_IN.get((group, kind), scopes.get((group, kind)))
    if namespaced is None:
        return written
    return (written or DEFAULT_NAMESPACE) if namespaced else ""
