"""Namespaces that go along: where a placement of a namespace has something and none brings them.

Unlike upstream, where such a namespace must be on the cluster before. One that a placement of the
whole fleet selects comes with that one.
"""

from collections.abc import Iterable, Iterator

from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.kinds import CLUSTER_SCOPED, NAMESPACED
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    BOUND,
    GROUP,
    NAMESPACE,
    UNSCHEDULED,
)
from reconciler.dialects.kubefleet.api.resource_snapshot import decode_resources
from reconciler.dialects.kubefleet.workgenerator.placement_files import snapshots_of_group
from reconciler.dialects.kubefleet.workgenerator.work_marks import MEMBER_NAMESPACE
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World

LEFT = (BOUND, UNSCHEDULED)


def namespace_key(name: str) -> ObjectKey:
    """Return the key of a Namespace."""
    return ObjectKey(*NAMESPACE, "", name)


def namespaces_along(world: World) -> dict[ObjectKey, list[ClusterName]]:
    """Return the Namespaces that go along, each with its clusters, sorted."""
    wanted: dict[str, set[ClusterName]] = {}
    for one in _bindings(world, NAMESPACED.binding):
        wanted.setdefault(one.namespace, set()).add(one.target)
    if not wanted:
        return {}
    held: dict[str, frozenset[str]] = {}
    for one in _bindings(world, CLUSTER_SCOPED.binding):
        master = one.resource_snapshot
        if master not in held:
            held[master] = frozenset(_selected(snapshots_of_group(world, "", master)))
        for name in held[master] & wanted.keys():
            wanted[name].discard(one.target)
    found = {namespace_key(name): sorted(names) for name, names in sorted(wanted.items()) if names}
    return {key: names for key, names in found.items() if key in world.inputs}


def _bindings(world: World, kind: str) -> Iterator[Binding]:
    """Yield the bindings of a kind that have put something onto their cluster."""
    for one in world.outputs_of_kind((GROUP, kind)):
        binding = decode_binding(one.body)
        if binding.state in LEFT and binding.resource_snapshot:
            yield binding


def _selected(snapshots: Iterable[Body]) -> Iterator[str]:
    """Yield the Namespaces that snapshots hold."""
    for key in _entries_of(snapshots):
        if key[:2] == NAMESPACE:
            yield key.name


def _entries_of(snapshots: Iterable[Body]) -> Iterator[ObjectKey]:
    """Yield the objects that snapshots hold."""
    for snapshot in snapshots:
        for entry in decode_resources(snapshot):
            yield entry.key


def namespace_work(name: str, cluster: ClusterName) -> Body:
    """Return the Work that brings a Namespace along, without it."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Work",
        "metadata": {"name": f"namespace.{name}", "namespace": f"{MEMBER_NAMESPACE}{cluster}"},
        "spec": {"workload": {}},
    }
