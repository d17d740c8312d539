"""Where placements are, by the bindings and snapshots that passes wrote."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.binding import state_of, target_of
from reconciler.dialects.kubefleet.api.groups import RUNS
from reconciler.dialects.kubefleet.api.kinds import (
    CLUSTER_SCOPED,
    NAMESPACED,
    PLACEMENTS,
    RESOURCE_SNAPSHOTS,
    kinds_in,
    placement_key,
)
from reconciler.dialects.kubefleet.api.names import (
    GROUP,
    PARENT,
    UNSCHEDULED,
)
from reconciler.dialects.kubefleet.api.placement_status import decode_placement_status
from reconciler.dialects.kubefleet.api.resource_snapshot import decode_resources
from reconciler.dialects.kubefleet.api.updates.approval_request import readable_request
from reconciler.manifests.identify import Identity, identify
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement that names a cluster."""
    if output.key.kind not in PLACEMENTS:
        return False
    return any(one.cluster for one in decode_placement_status(output.body).clusters or ())


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a binding or a snapshot."""
    if key.group != GROUP or key.kind in PLACEMENTS:
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PARENT)
    return placement_key(key.namespace, name) if name else None


def placement_of(world: World, key: ObjectKey) -> ObjectKey | None:
    """Return the placement that a staged update run rolls out, or the run of a request for it."""
    if key.kind == kinds_in(key.namespace).approval_request:
        request = world.outputs.get(key) or world.inputs.get(key)
        found = None if request is None else readable_request(request.body)
        if found is None:
            return None
        key = ObjectKey(GROUP, kinds_in(key.namespace).run, key.namespace, found.run)
    run = world.inputs.get(key)
    if run is None or key[:2] not in RUNS:
        return None
    return placement_key(key.namespace, text(mapping(run.body, "spec"), "placementName"))


def clusters_in(binding: Body) -> Iterator[tuple[str, int]]:
    """Yield the cluster of a binding, unless it is leaving; replicas are not counted."""
    if state_of(binding) != UNSCHEDULED:
        yield target_of(binding), 0


def carriers(world: World, key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the placements that carry an object along, by their snapshots, sorted."""
    found = set()
    for snapshot, manifest in world.outputs.items():
        if snapshot.group != GROUP or snapshot.kind not in RESOURCE_SNAPSHOTS:
            continue
        owner = owner_of(snapshot, manifest.body)
        for entry in decode_resources(manifest.body):
            match identify(entry.body, world.known):
                case Identity(group=group, kind=kind, namespace=namespace, name=name):
                    if owner and ObjectKey(group, kind, namespace, name) == key:
                        found.add(owner)
    return tuple(sorted(found))


def may_carry(world: World, namespace: str) -> bool:
    """Return whether a placement may select a namespace with what is in it."""
    placements = world.of_kind(GROUP, NAMESPACED.placement)
    if any(placement.key.namespace == namespace for placement in placements):
        return True
    return any(
        text(selector, "kind") == "Namespace" and text(selector, "name") in ("", namespace)
        for placement in world.of_kind(GROUP, CLUSTER_SCOPED.placement)
        for selector in bodies(mapping(placement.body, "spec"), "resourceSelectors")
    )
