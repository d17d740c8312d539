"""Who a document says that it is: apiVersion, kind, namespace and name, checked.

A document of another project is no broken one of ours: without `apiVersion` and `kind`, or of an
unknown kind without `metadata`, it is ignored. A Deployment without `metadata` is broken,
and so is one without `apiVersion`: were it ignored, a slip of the pen would take it off its
clusters. Labels and annotations are held against what an API server would refuse. Of a workload
nothing else is judged: its content is its member cluster's to judge.

A table says which kinds that Kubernetes ships are namespaced, and each API says it of its own. CRDs
of the repository extend that; for any other kind the manifest itself decides.

Every API server has some objects by itself, so no manifest needs to say them. They are known where
something refers to them, they are no file of an import, and they go to clusters only where a person
wrote a manifest of them.
"""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.manifests.schemas.violations import Violation, pointer_of
from reconciler.model import text
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.model.records import dataclass
from reconciler.model.text import shown


@dataclass(frozen=True, slots=True)
class Identity:
    """What a document says of itself; `namespace` is `""` where none is written."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def group(self) -> str:
        """API group, `""` for the core group."""
        return group_of(self.api_version)


@dataclass(frozen=True, slots=True)
class Unidentified:
    """Why a document has no identity: the field to edit, the sentence, and what would be right."""

    pointer: str
    rule: str
    message: str
    expected: str


def identify(
    body: Body, known: KnownKinds, *, is_item: bool = False
) -> Identity | Unidentified | None:
    """Return who a document says that it is, or what is wrong; `None` if it is not for us.

    An item of a List is always for us: nothing but objects can stand there.
    """
    api_version, kind, metadata = body.get("apiVersion"), body.get("kind"), body.get("metadata")
    if not is_item and not _is_for_us(body, known):
        return None
    wrong = _wrong_type(api_version, kind)
    return wrong or _named(str(api_version), str(kind), metadata, known.groups)


def _is_for_us(body: Body, known: KnownKinds) -> bool:
    """Return whether a document is a manifest, be it a broken one, and no other program's.

    With half of an identity it is one if anything else says so: `metadata`, `spec` or `items`, or
    a kind that we know. Other programs write `apiVersion: 1` or `kind: pipeline` alone.
    """
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if api_version is None and kind is None:
        return False
    if isinstance(body.get("metadata"), Mapping):
        return True
    if api_version is not None and kind is not None:
        return _is_known(api_version, kind, known)
    if isinstance(body.get("spec"), Mapping) or isinstance(body.get("items"), list):
        return True
    if api_version is None:
        return any(kind == name for _, name in known.scopes)
    group = group_of(api_version) if isinstance(api_version, str) else ""
    return group != "" and any(group == one for one, _ in known.scopes)


def _is_known(api_version: object, kind: object, known: KnownKinds) -> bool:
    """Return whether only a manifest can be of this kind: one of an API here, or of Kubernetes."""
    if not isinstance(api_version, str):
        return False
    group = group_of(api_version)
    return group in known.groups or (isinstance(kind, str) and (group, kind) in known.scopes)


def _wrong_type(api_version: object, kind: object) -> Unidentified | None:
    if not isinstance(api_version, str) or not text.is_api_version(api_version):
        written = "missing" if api_version is None else shown(api_version)
        return Unidentified(
            "/apiVersion",
            "identity-api-version",
            f"`apiVersion` is {written}, it must be VERSION or GROUP/VERSION",
            "for example apps/v1",
        )
    if not isinstance(kind, str) or not text.is_kind(kind):
        written = "missing" if kind is None else shown(kind)
        return Unidentified(
            "/kind",
            "identity-kind",
            f"`kind` is {written}, it must be a kind in upper camel case",
            "for example Deployment",
        )
    return None


def _named(
    api_version: str, kind: str, metadata: object, groups: frozenset[str]
) -> Identity | Unidentified:
    """Check `metadata.name` and `metadata.namespace`."""
    if not isinstance(metadata, Mapping):
        return Unidentified(
            "/metadata",
            "identity-name",
            "`metadata` is missing, it must be a mapping that holds the object's name",
            "metadata: {name: ...}",
        )
    name, namespace = metadata.get("name"), metadata.get("namespace")
    strict = group_of(api_version) in groups
    rule = text.SUBDOMAIN_RULE if strict else text.LOOSE_RULE
    fits = text.is_subdomain if strict else text.is_loose_name
    if not isinstance(name, str) or not fits(name):
        written = "missing" if name is None else shown(name)
        return Unidentified(
            "/metadata/name",
            "identity-name",
            f"`metadata.name` is {written}, it must be {rule}",
            rule,
        )
    if namespace is None or namespace == "":
        return Identity(api_version, kind, "", name)
    if not isinstance(namespace, str) or not text.is_label(namespace):
        return Unidentified(
            "/metadata/namespace",
            "identity-namespace",
            f"`metadata.namespace` is {shown(namespace)}, it must be {text.LABEL_RULE}",
            text.LABEL_RULE,
        )
    return Identity(api_version, kind, namespace, name)


RULE = "workload-metadata"
EXPECTED = "text; put numbers, true and false in quotes"


def refuse_metadata(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with the labels and annotations of a document that has an identity.

    >>> [one.pointer for one in refuse_metadata({"metadata": {"labels": {"tier": 1, "app": "a"}}})]
    ['/metadata/labels/tier']
    """
    metadata = body.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    return (*_refused(fields, "labels"), *_refused(fields, "annotations"))


def _refused(metadata: Body, field: str) -> Iterator[Violation]:
    """Yield what is wrong with one map of text; a null instead of the map is none."""
    texts = metadata.get(field)
    if texts is None:
        return
    if not isinstance(texts, Mapping):
        message = f"`metadata.{field}` must be a mapping of text to text"
        yield Violation(f"/metadata/{field}", RULE, message, EXPECTED)
        return
    for key, value in texts.items():
        if not isinstance(value, str):
            message = f"`metadata.{field}` must map {shown(key)} to text"
            yield Violation(pointer_of(["metadata", field, key]), RULE, message, EXPECTED)


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
        groups=frozenset(api.group for api in listed if not api.shares_group),
        scopes={**KUBERNETES, **{api.id: api.namespaced for api in listed}},
        outputs=frozenset(api.id for api in apis if api.writer is not Writer.PEOPLE),
        owned=frozenset(api.id for api in listed if api.writer is Writer.OURS),
        removable=frozenset(api.id for api in listed if api.removable),
        texts=frozenset(api.id for api in listed if api.removable or api.located),
        suspendable=frozenset(api.id for api in listed if api.suspendable),
        short={short: api.kind.lower() for api in listed for short in api.short},
        reported={api.id: api.reported_in for api in listed if api.reported_in},
        overlaid=frozenset(api.id for api in listed if api.overlaid),
        carriers={api.id: api.carries for api in listed if api.carries is not None},
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


PRIORITIES: Mapping[str, int] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The PriorityClasses by name; a manifest of that name counts instead.

Source: kubernetes@v1.33 pkg/apis/scheduling/v1/helpers.go `SystemPriorityClasses`.
"""

SYSTEM_NAMESPACE = "kube-"
"""How the names of the namespaces begin that are Kubernetes's own, with all that is in them."""

_RBAC = "rbac.authorization.k8s.io"
_SYSTEM = "system:"
_NAMES: Mapping[Kind, frozenset[str]] = {
    ("", "ConfigMap"): frozenset({"kube-root-ca.crt"}),
    ("", "Namespace"): frozenset({"default"}),
    ("", "ServiceAccount"): frozenset({"default"}),
    (_RBAC, "ClusterRole"): frozenset({"admin", "cluster-admin", "edit", "view"}),
    (_RBAC, "ClusterRoleBinding"): frozenset({"cluster-admin"}),
    ("scheduling.k8s.io", "PriorityClass"): frozenset(PRIORITIES),
}
_BEGINNINGS: Mapping[Kind, str] = {
    ("", "Namespace"): SYSTEM_NAMESPACE,
    (_RBAC, "ClusterRole"): _SYSTEM,
    (_RBAC, "ClusterRoleBinding"): _SYSTEM,
    (_RBAC, "Role"): _SYSTEM,
    (_RBAC, "RoleBinding"): _SYSTEM,
}
_SERVICE = ObjectKey("", "Service", "default", "kubernetes")


def is_built_in(key: ObjectKey) -> bool:
    """Return whether every API server has an object by itself.

    Source: kubernetes@v1.33 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go
    `ClusterRoles`, `ClusterRoleBindings`; pkg/controlplane/controller/systemnamespaces and
    kubernetesservice; pkg/controller/certificates/rootcacertpublisher and serviceaccount.

    >>> is_built_in(ObjectKey("", "Namespace", "", "kube-system"))
    True
    >>> is_built_in(ObjectKey("", "ServiceAccount", "shop", "builder"))
    False
    """
    kind = key.group, key.kind
    if key.name in _NAMES.get(kind, frozenset()) or key == _SERVICE:
        return True
    beginning = _BEGINNINGS.get(kind)
    return beginning is not None and key.name.startswith(beginning)
