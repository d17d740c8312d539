"""Where an object is, as the outputs of a world say it; the same question for each API."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.kubefleet.names import BINDING, PARENT, UNSCHEDULED
from reconciler.dialects.kubefleet.names import GROUP as FLEET_GROUP
from reconciler.model.decision import Placed
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Manifest, World

OCM_GROUP = "cluster.open-cluster-management.io"
PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
WORK_GROUP = "work.karmada.io"


def placed_on(world: World, key: ObjectKey) -> Placed:
    """Return the clusters of a binding or a placement, with their replicas.

    Args:
        world: Whose outputs are read.
        key: What decisions about the object bear: a binding of Karmada, a placement of the others.
    """
    manifest = world.outputs.get(key)
    if key.group == WORK_GROUP:
        if manifest is None:
            return ()
        clusters = bodies(mapping(manifest.body, "spec"), "clusters")
        return _sorted({text(item, "name"): number(item, "replicas") for item in clusters})
    return _sorted(dict.fromkeys(_chosen(world, key), 0))


def parts_of(world: World, key: ObjectKey) -> tuple[Manifest, ...]:
    """Return the outputs that a placement's decision is written in, sorted by key.

    These are the PlacementDecisions of OCM and the ClusterResourceBindings of KubeFleet; a binding
    of Karmada is its own.
    """
    if key.group == WORK_GROUP:
        return tuple(m for m in (world.outputs.get(key),) if m is not None)
    kind, label = ("PlacementDecision", PLACEMENT_LABEL)
    if key.group == FLEET_GROUP:
        kind, label = (BINDING, PARENT)
    return tuple(
        manifest
        for found, manifest in sorted(world.outputs.items())
        if (found.group, found.kind, found.namespace) == (key.group, kind, key.namespace)
        and text(mapping(mapping(manifest.body, "metadata"), "labels"), label) == key.name
    )


def _chosen(world: World, key: ObjectKey) -> Iterator[str]:
    """Yield the clusters that a placement has chosen."""
    for manifest in parts_of(world, key):
        if key.group == FLEET_GROUP:
            spec = mapping(manifest.body, "spec")
            if text(spec, "state") != UNSCHEDULED:
                yield text(spec, "targetCluster")
            continue
        for decision in bodies(mapping(manifest.body, "status"), "decisions"):
            yield text(decision, "clusterName")


def _sorted(replicas: Mapping[str, int]) -> Placed:
    return tuple((ClusterName(name), replicas[name]) for name in sorted(replicas))
