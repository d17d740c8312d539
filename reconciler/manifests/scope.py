"""Which kinds are namespaced: a table for what Kubernetes ships, and what each API says of its own.

CRDs of the repository extend it; of any other kind the manifest itself decides.
"""

from collections.abc import Iterable, Mapping

from reconciler.model.body import Body
from reconciler.model.known_kinds import ApiKind, Kind, KnownKinds, Writer

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
    "certificates.k8s.io": ("CertificateSigningRequest", "ClusterTrustBundle"),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io": ("IngressClass", "IPAddress", "ServiceCIDR"),
    "node.k8s.io": ("RuntimeClass",),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding"),
    "resource.k8s.io": ("DeviceClass", "ResourceSlice"),
    "scheduling.k8s.io": ("PriorityClass",),
    "storage.k8s.io": ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"),
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
    "coordination.k8s.io": ("Lease",),
    "discovery.k8s.io": ("EndpointSlice",),
    "events.k8s.io": ("Event",),
    "networking.k8s.io": ("Ingress", "NetworkPolicy"),
    "policy": ("PodDisruptionBudget",),
    "rbac.authorization.k8s.io": ("Role", "RoleBinding"),
    "storage.k8s.io": ("CSIStorageCapacity",),
}

KUBERNETES: Mapping[Kind, bool] = {
    (group, kind): namespaced
    for namespaced, table in ((False, _CLUSTER_SCOPED), (True, _NAMESPACED))
    for group, kinds in table.items()
    for kind in kinds
}
"""What Kubernetes ships: whether it is namespaced."""

GROUP = "reconciler.dev"
OURS = (
    ApiKind(group=GROUP, kind="DeliveryStatus", writer=Writer.OURS),
    ApiKind(group=GROUP, kind="SafetyStatus", writer=Writer.OURS),
    ApiKind(group=GROUP, kind="FaultReport", writer=Writer.OURS),
    ApiKind(group=GROUP, kind="ReconcilerConfiguration"),
    ApiKind(group=GROUP, kind="ReconcilerStatus", writer=Writer.OURS),
)
"""Our own kinds."""

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


def known_kinds(kinds: Iterable[ApiKind]) -> KnownKinds:
    """Return what is known, given the kinds of all APIs; ours and Kubernetes' are added."""
    apis = tuple(kinds)
    listed = (*OURS, *apis)
    return KnownKinds(
        groups=frozenset(one.group for one in listed),
        scopes={**KUBERNETES, **{one.id: one.namespaced for one in listed}},
        outputs=frozenset(one.id for one in apis if one.writer is not Writer.PEOPLE),
        owned=frozenset(one.id for one in listed if one.writer is Writer.OURS),
        removable=frozenset(one.id for one in listed if one.removable),
        suspendable=frozenset(one.id for one in listed if one.suspendable),
        short={short: one.kind.lower() for one in listed for short in one.short},
        reported={one.id: one.reported_in for one in listed if one.reported_in},
        carriers={one.id: one.carries for one in listed if one.carries is not None},
    )


def namespace_for(group: str, kind: str, written: str, scopes: Mapping[Kind, bool]) -> str:
    """Return the namespace of an object: `""` if its kind is cluster-scoped.

    Args:
        group: API group.
        kind: Kind.
        written: `metadata.namespace` as written, `""` if absent.
        scopes: Whether a kind is namespaced, as far as that is known.

    >>> namespace_for("apps", "Deployment", "", KUBERNETES)
    'default'
    >>> namespace_for("example.org", "Widget", "", KUBERNETES)
    ''
    """
    namespaced = scopes.get((group, kind))
    if namespaced is None:
        return written
    return (written or DEFAULT_NAMESPACE) if namespaced else ""
