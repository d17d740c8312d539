"""Namespaces that go along: where a placement of a namespace has something and none brings them.

Unlike upstream, where such a namespace must be on the cluster before. One that a placement of the
whole fleet selects comes with that one.
"""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.dialects.kubefleet.api.asked import abandons, asked_by_strategy
from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.kinds import CLUSTER_SCOPED, NAMESPACED
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    BOUND,
    GROUP,
    NAMESPACE,
    PARENT,
    UNSCHEDULED,
)
from reconciler.dialects.kubefleet.api.resource_snapshot import decode_resources
from reconciler.dialects.kubefleet.workgenerator.placement_files import snapshots_of_group
from reconciler.dialects.kubefleet.workgenerator.work_marks import MEMBER_NAMESPACE
from reconciler.dialects.renderer import Instruction
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World

Along = Mapping[ClusterName, frozenset[Instruction]]
"""The clusters of a Namespace, each with what is asked of it there."""
OF_NAMESPACES = frozenset({Instruction.REPORT_DIFF, Instruction.TAKE_OVER})
LEFT = (BOUND, UNSCHEDULED)


def namespace_key(name: str) -> ObjectKey:
    """Return the key of a Namespace."""
    return ObjectKey(*NAMESPACE, "", name)


def namespaces_along(world: World) -> dict[ObjectKey, Along]:
    """Return the Namespaces that go along, each with its clusters, sorted.

    What all placements ask that have something in it there is asked of the Namespace, too: where
    none of them may apply anything, nor may it be applied. It outlives them if one of them is to be
    outlived, for what is in it would go with it.
    """
    wanted: dict[str, dict[ClusterName, frozenset[Instruction]]] = {}
    for one in _bindings(world, NAMESPACED.binding):
        clusters = wanted.setdefault(one.namespace, {})
        asked = asked_by_strategy(one.apply_strategy or {}, abandons=_is_abandoned(world, one))
        others = clusters.get(one.target, asked)
        outlived = (asked | others) & {Instruction.ABANDON}
        clusters[one.target] = (asked & others & OF_NAMESPACES) | outlived
    if not wanted:
        return {}
    held: dict[str, frozenset[str]] = {}
    for one in _bindings(world, CLUSTER_SCOPED.binding):
        master = one.resource_snapshot
        if master not in held:
            held[master] = frozenset(_selected(snapshots_of_group(world, "", master)))
        for name in held[master] & wanted.keys():
            wanted[name].pop(one.target, None)
    found = {
        namespace_key(name): dict(sorted(clusters.items()))
        for name, clusters in sorted(wanted.items())
        if clusters
    }
    return {key: clusters for key, clusters in found.items() if key in world.inputs}


def _is_abandoned(world: World, binding: Binding) -> bool:
    key = ObjectKey(GROUP, NAMESPACED.placement, binding.namespace, binding.labels.get(PARENT, ""))
    placement = world.inputs.get(key)
    return placement is not None and abandons(placement.body)


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
