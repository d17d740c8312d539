"""What of a Secret may be shown: who it is, its labels, its type, which keys it has; no value.

`get`, `describe`, `render`, `plan`, reports and the page ask here. A Secret that stands in another
object, as in the manifests of a ManifestWork, is one as well.
"""

from collections.abc import Mapping
from typing import cast

from reconciler.model.body import Body

HIDDEN = "***"
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


def without_secrets(body: Body) -> Body:
    """Return an object with the values of each Secret in it hidden; itself if there is none.

    >>> without_secrets({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGU="}})
    {'apiVersion': 'v1', 'kind': 'Secret', 'data': {'password': '***'}}
    """
    return cast("Body", _shown(body))


def is_secret(body: Body) -> bool:
    """Return whether an object is a Secret."""
    return (body.get("apiVersion"), body.get("kind")) == KIND


def _shown(value: object) -> object:
    """Return a value of any depth; the very same where nothing in it is hidden."""
    if isinstance(value, Mapping):
        if is_secret(value):
            return _shown_secret(value)
        inner = {key: _shown(one) for key, one in value.items()}
        return inner if any(inner[key] is not one for key, one in value.items()) else value
    if isinstance(value, list | tuple):
        items = [_shown(one) for one in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _shown_secret(body: Body) -> Body:
    """Return what may be shown of a Secret; whatever is not known to be harmless is hidden."""
    return {field: _shown_field(field, value) for field, value in body.items()}


def _shown_field(field: str, value: object) -> object:
    match field:
        case "apiVersion" | "kind":
            return value
        case "metadata":
            return _shown_metadata(value)
        case "type":
            return value if isinstance(value, str) and value in TYPES else HIDDEN
        case "immutable":
            return value if isinstance(value, bool) else HIDDEN
        case "data" | "stringData":
            return _keys(value)
        case _:
            return HIDDEN


def _shown_metadata(metadata: object) -> object:
    """Return the metadata of a Secret; kubectl keeps the whole object in an annotation, too."""
    if not isinstance(metadata, Mapping):
        return HIDDEN
    return {
        field: value
        if field in SHOWN_METADATA
        else _keys(value)
        if field == "annotations"
        else HIDDEN
        for field, value in metadata.items()
    }


def _keys(values: object) -> object:
    """Return a mapping with its values hidden, or nothing but that there is something."""
    return dict.fromkeys(values, HIDDEN) if isinstance(values, Mapping) else HIDDEN
