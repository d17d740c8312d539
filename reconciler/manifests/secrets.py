"""A Secret without what is secret in it."""

from collections.abc import Mapping

from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body

HIDDEN = "***"
VALUES = ("data", "stringData")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation in which kubectl keeps the whole object once more, its data included."""


def without_secrets(key: ObjectKey, body: Body) -> Body:
    """Return a Secret with each of its values hidden, its keys kept; any other object itself.

    >>> without_secrets(ObjectKey("", "Secret", "d", "s"), {"data": {"password": "aHVudGVyMg=="}})
    {'data': {'password': '***'}}
    """
    if (key.group, key.kind) != ("", "Secret"):
        return body
    hidden = {field: _hidden(body[field]) for field in VALUES if field in body}
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if isinstance(metadata, Mapping) and isinstance(annotations, Mapping):
        kept = {name: HIDDEN if name == LAST_APPLIED else one for name, one in annotations.items()}
        hidden["metadata"] = {**metadata, "annotations": kept}
    return {**body, **hidden}


def _hidden(values: object) -> object:
    """Return a mapping with its values hidden, or nothing but that there is something."""
    return dict.fromkeys(values, HIDDEN) if isinstance(values, Mapping) else HIDDEN
