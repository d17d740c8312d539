"""Who a document says that it is: apiVersion, kind, namespace and name, checked.

A document of another project is told from a broken one of ours: without `apiVersion` and `kind`,
or of an unknown kind without `metadata`, it is ignored. A Deployment without `metadata` is broken:
were it ignored, a slip of the pen would take it off its clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.manifests import names
from reconciler.manifests.names import shown
from reconciler.manifests.scope import BUILT_IN
from reconciler.model.identity import group_of
from reconciler.model.world import Body

OUR_GROUPS = frozenset(
    {
        "apps.karmada.io",
        "cluster.karmada.io",
        "cluster.kubernetes-fleet.io",
        "cluster.open-cluster-management.io",
        "placement.kubernetes-fleet.io",
        "policy.karmada.io",
        "reconciler.dev",
        "work.karmada.io",
    }
)
"""API groups whose kinds are never workloads: Karmada's, OCM's, KubeFleet's and our own."""

OWNED_KINDS = frozenset(
    {
        ("cluster.open-cluster-management.io", "PlacementDecision"),
        ("placement.kubernetes-fleet.io", "ClusterResourceBinding"),
        ("placement.kubernetes-fleet.io", "ClusterResourceSnapshot"),
        ("placement.kubernetes-fleet.io", "ClusterSchedulingPolicySnapshot"),
        ("work.karmada.io", "ClusterResourceBinding"),
        ("work.karmada.io", "ResourceBinding"),
        ("reconciler.dev", "FaultReport"),
        ("reconciler.dev", "ReconcilerStatus"),
    }
)
"""Kinds that only a pass writes; anywhere else than below the output root they are a fault."""


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


def identify(body: Body) -> Identity | Unidentified | None:
    """Return who a document says that it is, or what is wrong; `None` if it is not for us."""
    api_version, kind, metadata = body.get("apiVersion"), body.get("kind"), body.get("metadata")
    if api_version is None and kind is None:
        return None
    if not isinstance(metadata, Mapping) and not _is_known(api_version, kind):
        return None
    return _wrong_type(api_version, kind) or _named(str(api_version), str(kind), metadata)


def _is_known(api_version: object, kind: object) -> bool:
    """Say whether only a manifest can be of this kind: one of the three APIs, or of Kubernetes."""
    if not isinstance(api_version, str):
        return False
    group = group_of(api_version)
    return group in OUR_GROUPS or (isinstance(kind, str) and (group, kind) in BUILT_IN)


def _wrong_type(api_version: object, kind: object) -> Unidentified | None:
    """Check `apiVersion` and `kind`."""
    if not isinstance(api_version, str) or not names.is_api_version(api_version):
        found = "missing" if api_version is None else shown(api_version)
        return Unidentified(
            "/apiVersion",
            "identity-api-version",
            f"`apiVersion` is {found}, it must be VERSION or GROUP/VERSION",
            "for example apps/v1",
        )
    if not isinstance(kind, str) or not names.is_kind(kind):
        found = "missing" if kind is None else shown(kind)
        return Unidentified(
            "/kind",
            "identity-kind",
            f"`kind` is {found}, it must be a kind in upper camel case",
            "for example Deployment",
        )
    if kind.endswith("List") and api_version == "v1":
        return Unidentified(
            "/kind",
            "identity-list",
            "a List is not read, its items must be documents of their own",
            "one document an object, separated by ---",
        )
    return None


def _named(api_version: str, kind: str, metadata: object) -> Identity | Unidentified:
    """Check `metadata.name` and `metadata.namespace`."""
    if not isinstance(metadata, Mapping):
        return Unidentified(
            "/metadata",
            "identity-name",
            "`metadata` is missing, it must be a mapping that holds the object's name",
            "metadata: {name: ...}",
        )
    name, namespace = metadata.get("name"), metadata.get("namespace")
    strict = group_of(api_version) in OUR_GROUPS
    rule = names.SUBDOMAIN_RULE if strict else names.LOOSE_RULE
    fits = names.is_subdomain if strict else names.is_loose_name
    if not isinstance(name, str) or not fits(name):
        found = "missing" if name is None else shown(name)
        return Unidentified(
            "/metadata/name",
            "identity-name",
            f"`metadata.name` is {found}, it must be {rule}",
            rule,
        )
    if namespace is None or namespace == "":
        return Identity(api_version, kind, "", name)
    if not isinstance(namespace, str) or not names.is_label(namespace):
        return Unidentified(
            "/metadata/namespace",
            "identity-namespace",
            f"`metadata.namespace` is {shown(namespace)}, it must be {names.LABEL_RULE}",
            names.LABEL_RULE,
        )
    return Identity(api_version, kind, namespace, name)
