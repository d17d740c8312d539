"""What of a Secret may be shown: who it is, its labels, its type, which keys it has; no value.

`get`, `describe`, `render`, `plan`, reports and the page ask here. A Secret that stands in another
object, as in the manifests of a ManifestWork, is one as well.
"""

from collections.abc import Mapping
from typing import cast

from reconciler.model.body import Body

HIDDEN = "***"
HIDDEN_IN_CONDITIONS = "(hidden)"
"""What stands instead of a value in texts that upstream writes."""
KIND = ("v1", "Secret")
VALUES = ("data", "stringData")
SHOWN_METADATA = frozenset(
    (
        "name",
        "generateName",
        "namespace",
        "labels",
        "uid",
        "generation",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
    )
)
TYPES = frozenset(
    (
        "Opaque",
        "bootstrap.kubernetes.io/token",
        "helm.sh/release.v1",
        "kubernetes.io/basic-auth",
        "kubernetes.io/dockercfg",
        "kubernetes.io/dockerconfigjson",
        "kubernetes.io/service-account-token",
        "kubernetes.io/ssh-auth",
        "kubernetes.io/tls",
    )
)
"""Types that say nothing of their own; any other text may be a value in the wrong place."""


def without_secrets(body: Body, instead: str = HIDDEN) -> Body:
    """Return an object with the values of each Secret in it hidden; itself if there is none.

    Args:
        body: The object.
        instead: What stands where a value was.

    >>> without_secrets({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGU="}})
    {'apiVersion': 'v1', 'kind': 'Secret', 'data': {'password': '***'}}
    """
    return cast("Body", _shown(body, instead))


def is_secret(body: Body) -> bool:
    """Return whether an object is a Secret."""
    return (body.get("apiVersion"), body.get("kind")) == KIND


def _shown(value: object, instead: str) -> object:
    """Return a value of any depth; the very same where nothing in it is hidden."""
    if isinstance(value, Mapping):
        if is_secret(value):
            return _shown_secret(value, instead)
        inner = {key: _shown(one, instead) for key, one in value.items()}
        return inner if any(inner[key] is not one for key, one in value.items()) else value
    if isinstance(value, list | tuple):
        items = [_shown(one, instead) for one in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _shown_secret(body: Body, instead: str) -> Body:
    """Return what may be shown of a Secret; whatever is not known to be harmless is hidden."""
    return {field: _shown_field(field, value, instead) for field, value in body.items()}


def _shown_field(field: str, value: object, instead: str) -> object:
    match field:
        case "apiVersion" | "kind":
            return value
        case "metadata":
            return _shown_metadata(value, instead)
        case "type":
            return value if isinstance(value, str) and value in TYPES else instead
        case "immutable":
            return value if isinstance(value, bool) else instead
        case "data" | "stringData":
            return _keys(value, instead)
        case _:
            return instead


def _shown_metadata(metadata: object, instead: str) -> object:
    """Return the metadata of a Secret; kubectl keeps the whole object in an annotation, too."""
    if not isinstance(metadata, Mapping):
        return instead
    return {
        field: value
        if field in SHOWN_METADATA
        else _keys(value, instead)
        if field == "annotations"
        else instead
        for field, value in metadata.items()
    }


def _keys(values: object, instead: str) -> object:
    """Return a mapping with its values hidden, or nothing but that there is something."""
    return dict.fromkeys(values, instead) if isinstance(values, Mapping) else instead
