"""Who a document says that it is: apiVersion, kind, namespace and name, checked.

A document of another project is told from a broken one of ours: without `apiVersion` and `kind`,
or of an unknown kind without `metadata`, it is ignored. A Deployment without `metadata` is broken,
and so is one without `apiVersion`: were it ignored, a slip of the pen would take it off its
clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.manifests import names
from reconciler.model.body import Body
from reconciler.model.identity import group_of
from reconciler.model.known_kinds import KnownKinds
from reconciler.model.message_text import shown


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
