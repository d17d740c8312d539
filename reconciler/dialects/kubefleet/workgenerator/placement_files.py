"""The files that a pass left of one placement, found by their names among all outputs."""

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import PLACEMENT_PART, Binding, decode_binding
from reconciler.dialects.kubefleet.api.kinds import kinds_in, placement_key
from reconciler.dialects.kubefleet.api.names import GROUP, PARENT
from reconciler.dialects.kubefleet.snapshots.revision import labels_of
from reconciler.dialects.kubefleet.workgenerator.snapshot_group import index_of
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


def bindings_of(world: World, placement: ObjectKey) -> list[Binding]:
    """Return the bindings of a placement, by name."""
    stem = f"{placement.name[:PLACEMENT_PART]}-"
    kind = kinds_in(placement.namespace).binding
    return [decode_binding(one.body) for one in _named(world, kind, placement, stem)]


def snapshots_of(world: World, placement: ObjectKey) -> list[Body]:
    """Return the resource snapshots of a placement, by name."""
    kind = kinds_in(placement.namespace).resource_snapshot
    return [one.body for one in _named(world, kind, placement, f"{placement.name}-")]


def snapshots_of_group(world: World, namespace: str, master: str) -> Iterator[Body]:
    """Yield the snapshots that belong together with a master, itself included."""
    kind = kinds_in(namespace).resource_snapshot
    first = world.outputs.get(ObjectKey(GROUP, kind, namespace, master))
    if first is not None:
        placement = placement_key(namespace, labels_of(first.body).get(PARENT, ""))
        for one in snapshots_of(world, placement):
            if index_of(one) == index_of(first.body):
                yield one


def parent_of(output: Manifest) -> ObjectKey:
    """Return the placement that a binding or a snapshot belongs to."""
    return placement_key(output.key.namespace, labels_of(output.body).get(PARENT, ""))


def _named(world: World, kind: str, placement: ObjectKey, stem: str) -> Iterator[Manifest]:
    """Yield the outputs of a kind whose names begin with a stem and whose label says the owner."""
    found = world.outputs_of_kind((GROUP, kind))
    start = ObjectKey(GROUP, kind, placement.namespace, stem)
    begin = bisect_left(found, start, key=attrgetter("key"))
    for place in range(begin, len(found)):
        one = found[place]
        if one.key.namespace != placement.namespace or not one.key.name.startswith(stem):
            return
        if parent_of(one) == placement:
            yield one
