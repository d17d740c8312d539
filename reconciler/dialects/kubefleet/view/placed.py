"""Where placements are, by the bindings and snapshots that passes wrote."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.names import (
    GROUP,
    PARENT,
    PLACEMENT,
    RESOURCE_SNAPSHOT,
    UNSCHEDULED,
)
from reconciler.manifests.identify import Identity, identify
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest, World


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement that names a cluster."""
    if output.key.kind != PLACEMENT:
        return False
    statuses = bodies(mapping(output.body, "status"), "placementStatuses")
    return any(text(item, "clusterName") for item in statuses)


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a binding or a snapshot."""
    if key.group != GROUP or key.kind == PLACEMENT:
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PARENT)
    return ObjectKey(key.group, PLACEMENT, key.namespace, name) if name else None


def clusters_in(binding: Body) -> Iterator[tuple[str, int]]:
    """Yield the cluster of a binding, unless it is leaving; replicas are not counted."""
    spec = mapping(binding, "spec")
    if text(spec, "state") != UNSCHEDULED:
        yield text(spec, "targetCluster"), 0


def carriers(world: World, key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the placements that carry an object along, by their snapshots, sorted."""
    found = set()
    for snapshot, manifest in world.outputs.items():
        if (snapshot.group, snapshot.kind) != (GROUP, RESOURCE_SNAPSHOT):
            continue
        owner = owner_of(snapshot, manifest.body)
        for entry in bodies(mapping(manifest.body, "spec"), "selectedResources"):
            match identify(entry, world.known):
                case Identity(group=group, kind=kind, namespace=namespace, name=name):
                    if owner and ObjectKey(group, kind, namespace, name) == key:
                        found.add(owner)
    return tuple(sorted(found))


def may_carry(world: World, namespace: str) -> bool:
    """Return whether a placement may select a namespace with all that is in it."""
    return any(
        text(selector, "kind") == "Namespace" and text(selector, "name") in ("", namespace)
        for placement in world.of_kind(GROUP, PLACEMENT)
        for selector in bodies(mapping(placement.body, "spec"), "resourceSelectors")
    )
