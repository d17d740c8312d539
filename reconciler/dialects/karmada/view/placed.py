"""Where workloads are, by the bindings that passes wrote."""

from collections.abc import Iterator

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.resources import Resources, readable_resources
from reconciler.model.world import Manifest


def is_placed(output: Manifest) -> bool:
    """Return whether a binding names a cluster."""
    return bool(bodies(mapping(output.body, "spec"), "clusters"))


def owner_of(key: ObjectKey, body: Body) -> None:
    """Return `None`: a binding is not a part of anything."""
    del key, body


def clusters_in(binding: Body) -> Iterator[tuple[str, int]]:
    """Yield the clusters of a binding with their replicas."""
    for item in bodies(mapping(binding, "spec"), "clusters"):
        yield text(item, "name"), number(item, "replicas")


def requested_by(binding: Body) -> Resources:
    """Return what one replica asks for."""
    needs = mapping(mapping(binding, "spec"), "replicaRequirements")
    return readable_resources(mapping(needs, "resourceRequest")) or {}


def workload_of(binding: Body) -> Body:
    """Return the workload of a binding, as a rebalancer names it."""
    resource = mapping(mapping(binding, "spec"), "resource")
    fields = ("apiVersion", "kind", "namespace", "name")
    return {field: text(resource, field) for field in fields if text(resource, field)}
