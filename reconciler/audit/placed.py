"""Where an object is, as the outputs of a world say it; the same question for each API."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.revisions import Commit, FileChange, Revisions, UnreadableRevision
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.kubefleet.api.names import (
    BINDING,
    PARENT,
    PLACEMENT,
    RESOURCE_SNAPSHOT,
    UNSCHEDULED,
)
from reconciler.dialects.kubefleet.api.names import GROUP as FLEET_GROUP
from reconciler.manifests.identify import Identity, identify
from reconciler.manifests.paths import output_path
from reconciler.model.decision import Placed
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.world import Body, Manifest, World
from reconciler.rebalance.target import Reference

OCM_GROUP = "cluster.open-cluster-management.io"
PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
WORK_GROUP = "work.karmada.io"
PARTS = {OCM_GROUP: "PlacementDecision", FLEET_GROUP: BINDING}
"""Group to the kind that decisions on its placements are written in."""


def decided_on(target: Reference) -> ObjectKey:
    """Return what decisions about a rebalancer's target bear: of a workload its binding."""
    group, kind = group_of(target.api_version), target.kind
    key = ObjectKey(group, kind, target.namespace, target.name)
    placements = {(OCM_GROUP, "Placement"), (FLEET_GROUP, PLACEMENT)}
    return key if (group, kind) in placements else binding_key(key)


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
    kind = PARTS.get(key.group)
    return tuple(
        manifest
        for found, manifest in sorted(world.outputs.items())
        if (found.group, found.kind) == (key.group, kind) and owner_of(found, manifest.body) == key
    )


def paths_of(world: World, key: ObjectKey) -> frozenset[str]:
    """Return the paths of the outputs that say where an object is, the placement's own included."""
    parts = (manifest.origin.path for manifest in parts_of(world, key))
    return frozenset((output_path(world.output_root, key), *parts))


def places_of(key: ObjectKey, output_root: str) -> tuple[str, ...]:
    """Return where the outputs stand that say where an object is: its own file, and a folder.

    The folder is that of the parts of decisions, others' too; a binding of Karmada has none.
    """
    own = output_path(output_root, key)
    kind = PARTS.get(key.group)
    if kind is None:
        return (own,)
    part = output_path(output_root, ObjectKey(key.group, kind, key.namespace, key.name))
    return own, part.rpartition("/")[0]


def may_concern(
    key: ObjectKey,
    changes: Iterable[FileChange],
    places: Sequence[str],
    texts: Callable[[Iterable[str]], Mapping[str, bytes]],
) -> bool:
    """Say whether a commit may have changed where an object is: its own file, or a part of it.

    Args:
        key: What decisions about the object bear.
        changes: What the commit changed.
        places: What `places_of` says.
        texts: Reads blobs; a part names its owner.
    """
    own, *folders = places
    near = [c for c in changes if c.path == own or c.path.rpartition("/")[0] in folders]
    if any(change.path == own for change in near):
        return True
    blobs = [blob for c in near for blob in (c.before, c.after) if blob is not None]
    return any(key.name.encode() in content for content in texts(blobs).values())


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement that an output is a part of, `None` if it is of none.

    These are the parts of its decision, and of KubeFleet its snapshots.
    """
    labels = mapping(mapping(body, "metadata"), "labels")
    if (key.group, key.kind) == (OCM_GROUP, PARTS[OCM_GROUP]):
        name, kind = text(labels, PLACEMENT_LABEL), "Placement"
    elif key.group == FLEET_GROUP and key.kind != PLACEMENT:
        name, kind = text(labels, PARENT), PLACEMENT
    else:
        return None
    return ObjectKey(key.group, kind, key.namespace, name) if name else None


@dataclass(frozen=True, slots=True)
class Side:
    """The outputs of an object at a commit: path to blob id, and where it is by them.

    `placed` is `None` where one of them cannot be read.
    """

    files: Mapping[str, str]
    placed: Placed | None


def sides_of(
    key: ObjectKey, commit: Commit, revisions: Revisions
) -> tuple[Side, Side] | UnreadableRevision:
    """Return the outputs of an object before a commit and after it."""
    after = revisions.world(commit.revision, commit.revision)
    if isinstance(after, UnreadableRevision):
        return after
    if commit.parent is None:
        return Side({}, ()), _side(key, after, paths_of(after, key))
    before = revisions.world(commit.parent, commit.parent)
    if isinstance(before, UnreadableRevision):
        return before
    paths = paths_of(before, key) | paths_of(after, key)
    return _side(key, before, paths), _side(key, after, paths)


def _side(key: ObjectKey, world: World, paths: frozenset[str]) -> Side:
    """Return one side of a commit."""
    files = {path: world.present[path] for path in paths if path in world.present}
    return Side(
        files, None if any(path in world.frozen for path in paths) else placed_on(world, key)
    )


def carriers_of(world: World, key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the placements of KubeFleet that carry an object along, by their snapshots, sorted."""
    found = set()
    for snapshot, manifest in world.outputs.items():
        if (snapshot.group, snapshot.kind) != (FLEET_GROUP, RESOURCE_SNAPSHOT):
            continue
        owner = owner_of(snapshot, manifest.body)
        for entry in bodies(mapping(manifest.body, "spec"), "selectedResources"):
            match identify(entry, world.known):
                case Identity(group=group, kind=kind, namespace=namespace, name=name):
                    if owner and ObjectKey(group, kind, namespace, name) == key:
                        found.add(owner)
    return tuple(sorted(found))


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
