"""What of a resource goes to other clusters: everything but what only its own cluster knows."""

from collections.abc import Mapping

from reconciler.model import fields
from reconciler.model.body import Body

_METADATA = (
    "resourceVersion",
    "generation",
    "uid",
    "selfLink",
    "deletionTimestamp",
    "managedFields",
    "ownerReferences",
    "creationTimestamp",
)
_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
)
_CONTROLLER_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_HEADLESS = "None"


def strip(body: Body) -> Body:
    """Return a resource without what only its own cluster knows.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `generateRawContent`.
    """
    metadata = without(fields.mapping(body, "metadata"), *_METADATA)
    annotations = fields.mapping_or_none(metadata, "annotations")
    if annotations is not None:
        metadata = without(metadata, "annotations")
        kept = without(annotations, *_ANNOTATIONS)
        if kept:
            metadata = {**metadata, "annotations": kept}
    stripped = {**without(body, "status"), "metadata": metadata}
    identity = (body.get("apiVersion"), body.get("kind"))
    spec = body.get("spec")
    if identity == ("v1", "Service") and isinstance(spec, Mapping):
        return {**stripped, "spec": _service(spec)}
    if identity == ("batch/v1", "Job") and isinstance(spec, Mapping):
        return {**stripped, "spec": _job(spec)}
    return stripped


def without(body: Body, *names: str) -> Body:
    """Return a mapping without these keys.

    >>> without({"a": 1, "b": 2}, "b", "c")
    {'a': 1}
    """
    return {name: value for name, value in body.items() if name not in names}


def _service(spec: Body) -> Body:
    """Drop addresses and ports that the cluster gave; a headless service says so and keeps it."""
    address = spec.get("clusterIP")
    if isinstance(address, str) and address != _HEADLESS:
        spec = without(spec, "clusterIP", "clusterIPs")
    spec = without(spec, "healthCheckNodePort")
    ports = spec.get("ports")
    if isinstance(ports, list | tuple):
        kept = [without(p, "nodePort") if isinstance(p, Mapping) else p for p in ports]
        return {**spec, "ports": kept}
    return spec


def _job(spec: Body) -> Body:
    """Drop the selector and labels that the cluster gave, unless a person manages them."""
    if spec.get("manualSelector") is True:
        return spec
    for path in (("selector", "matchLabels"), ("template", "metadata", "labels")):
        for label in _CONTROLLER_LABELS:
            spec = _removed(spec, *path, label)
    return _removed(spec, "template", "metadata", "creationTimestamp")


def _removed(body: Body, name: str, *path: str) -> Body:
    """Return a mapping without the field at a path."""
    if not path:
        return without(body, name)
    below = body.get(name)
    return {**body, name: _removed(below, *path)} if isinstance(below, Mapping) else body
