"""What Karmada's API server refuses of a Cluster's labels, annotations, finalizers and owners.

Of the other kinds no more is judged than that labels and annotations are text.

Source: k8s.io/apimachinery pkg/api/validation/objectmeta.go `ValidateObjectMetaAccessor`.
"""

from collections.abc import Iterator

from reconciler.manifests.schemas.violations import Violation, pointer_of
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.message_text import shown

RULE = "cluster-metadata"
KEY = "letters, digits, '-', '_' and '.', with a DNS name and a slash before them or without"
MOST_ANNOTATIONS = 256 * 1024  # apimachinery TotalAnnotationSizeLimitB
OWNER = ("apiVersion", "kind", "name", "uid")


def refuse_cluster_metadata(body: Body) -> Iterator[Violation]:
    """Yield what is wrong with the metadata of a cluster, but for its name."""
    metadata = mapping(body, "metadata")
    yield from _labels(metadata)
    yield from _annotations(metadata)
    yield from _owners(metadata)
    for place, name in enumerate(strings(metadata, "finalizers")):
        if not is_label_key(name):
            message = f"the finalizer {shown(name)} must be a qualified name"
            yield Violation(f"/metadata/finalizers/{place}", RULE, message, KEY)


def _labels(metadata: Body) -> Iterator[Violation]:
    labels = mapping(metadata, "labels")
    for key in labels:
        at, value = pointer_of(["metadata", "labels", key]), text(labels, key)
        if not is_label_key(key):
            yield Violation(at, RULE, f"{shown(key)} must be the key of a label", KEY)
        if not is_label_value(value):
            message = f"{shown(value)} must be the value of a label"
            yield Violation(at, RULE, message, "at most 63 letters, digits, '-', '_' and '.'")


def _annotations(metadata: Body) -> Iterator[Violation]:
    """Yield keys that no annotation has, whose case does not matter, and that there are too many.

    Source: apimachinery `ValidateAnnotations`, `ValidateAnnotationsSize`.
    """
    annotations = mapping(metadata, "annotations")
    for key in annotations:
        if not is_label_key(key.lower()):
            at = pointer_of(["metadata", "annotations", key])
            yield Violation(at, RULE, f"{shown(key)} must be the key of an annotation", KEY)
    parts = (part for key in annotations for part in (key, text(annotations, key)))
    size = sum(len(part.encode()) for part in parts)
    if size > MOST_ANNOTATIONS:
        message = f"annotations must have at most {MOST_ANNOTATIONS} bytes, these have {size}"
        yield Violation("/metadata/annotations", RULE, message, "shorter values")


def _owners(metadata: Body) -> Iterator[Violation]:
    """Yield fields of owners that are empty, and owners that control it beside another.

    Source: apimachinery `ValidateOwnerReferences`.
    """
    owners = bodies(metadata, "ownerReferences")
    for place, owner in enumerate(owners):
        for name in (name for name in OWNER if not text(owner, name)):
            message = f"`{name}` of an owner must not be empty"
            yield Violation(f"/metadata/ownerReferences/{place}/{name}", RULE, message)
    controllers = [i for i, owner in enumerate(owners) if owner.get("controller") is True]
    for place in controllers[1:]:
        message = "only one owner must be the controller"
        at = f"/metadata/ownerReferences/{place}/controller"
        yield Violation(at, RULE, message, "false, or no field")
