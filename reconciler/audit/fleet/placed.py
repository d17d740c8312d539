"""Where an object is, as the outputs of a world say it; the same question for each API."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from reconciler.audit.history.revisions import Commit, FileChange, Revisions, UnreadableRevision
from reconciler.core.dialects import DIALECTS, clusters_in, decision_on, dialect_of
from reconciler.core.own_outputs import own_outputs
from reconciler.manifests.paths import output_path
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.model.world import Manifest, World
from reconciler.rebalance.target import Reference

RECORDED = frozenset(dialect.cluster for dialect in DIALECTS)
"""The kinds of clusters of which passes keep records."""


def present_in(world: World) -> set[ObjectKey]:
    """Return the objects of a world: what people wrote, and what passes did.

    What a pass keeps of a cluster is no cluster, though what it publishes of one is an object. One
    that an API sees of another API's has its file there, and is listed once; what is kept of it for
    the API that sees it is a record.
    """
    records = (one.key for one in world.outputs_of(RECORDED))
    return {*world.inputs, *world.outputs}.difference(
        key for key in records if key not in world.inputs
    )


def is_present(world: World, key: ObjectKey) -> bool:
    """Return whether an object is one of those of a world, as `present_in` has them."""
    return key in world.inputs or (key in world.outputs and key[:2] not in RECORDED)


def decided_on(target: Reference) -> ObjectKey:
    """Return what decisions about a rebalancer's target bear: of a workload its binding."""
    return decision_on(target.key) or target.key


def workload_on(world: World, decision: ObjectKey) -> ObjectKey | None:
    """Return the workload that an output is a decision on, `None` if it is on none."""
    manifest, dialect = world.outputs.get(decision), dialect_of(decision.group)
    workload = None
    if manifest is not None and dialect is not None:
        workload = dialect.view().outputs.workload_of(manifest.body)
    return None if workload is None else workload.key


def named(world: World, decision: ObjectKey) -> ObjectKey:
    """Return the object that people mean by what is decided: of a binding its workload."""
    return workload_on(world, decision) or decision


def placed_on(world: World, key: ObjectKey) -> Placed:
    """Return the clusters of a binding or a placement, with their replicas.

    Args:
        world: Whose outputs are read.
        key: What decisions about the object bear.
    """
    return clusters_in(parts_of(world, key))


def parts_of(world: World, key: ObjectKey) -> tuple[Manifest, ...]:
    """Return the outputs that a decision is written in, sorted by key.

    That is the output that it is about, or those of a kind that its API has for it.
    """
    dialect = dialect_of(key.group)
    kind = None if dialect is None else dialect.parts.get((key.group, key.kind))
    if dialect is None or kind is None:
        return tuple(m for m in (world.outputs.get(key),) if m is not None and dialect is not None)
    view = dialect.view()
    return tuple(
        manifest
        for manifest in world.outputs_of_kind(kind)
        if manifest.key.namespace == key.namespace
        and view.outputs.owner_of(manifest.key, manifest.body) == key
    )


def paths_of(world: World, key: ObjectKey) -> frozenset[str]:
    """Return the paths of the outputs that say where an object is, the placement's own included."""
    parts = (manifest.origin.path for manifest in parts_of(world, key))
    return frozenset((output_path(world.output_root, key), *parts))


def places_of(key: ObjectKey, layout: RepositoryLayout) -> tuple[str, ...]:
    """Return where the outputs stand that say where an object is: its own file, and a folder.

    The folder is that of the parts of decisions, others' too, where its API has parts.
    """
    own = output_path(layout.output_root, key)
    dialect = dialect_of(key.group)
    kind = None if dialect is None else dialect.parts.get((key.group, key.kind))
    if kind is None:
        return (own,)
    part = output_path(layout.output_root, ObjectKey(*kind, key.namespace, key.name))
    return own, part.rpartition("/")[0]


def may_concern(
    key: ObjectKey,
    changes: Iterable[FileChange],
    places: Sequence[str],
    texts: Callable[[Iterable[str]], Mapping[str, bytes]],
) -> bool:
    """Return whether a commit may have changed where an object is: its own file, or a part of it.

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


def placement_of(world: World, key: ObjectKey) -> ObjectKey | None:
    """Return the placement that an object is about, as a rollout is, `None` if about none."""
    dialect = dialect_of(key.group)
    return None if dialect is None else dialect.view().world.placement_of(world, key)


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement that an output is a part of, `None` if it is of none."""
    dialect = dialect_of(key.group)
    return None if dialect is None else dialect.view().outputs.owner_of(key, body)


@dataclass(frozen=True, slots=True)
class Side:
    """The outputs of an object at a commit: path to blob id, and where it is by them.

    `placed` is `None` where one of them cannot be read. `followed` are the decisions on what needs
    the object, which brought it where they are.
    """

    files: Mapping[str, str]
    placed: Placed | None
    followed: tuple[ObjectKey, ...] = ()


def sides_of(
    key: ObjectKey, commit: Commit, revisions: Revisions
) -> tuple[Side, Side] | UnreadableRevision:
    """Return the outputs of an object before a commit and after it."""
    only = own_outputs(key, revisions.layout.output_root)
    after = revisions.world_at(commit.revision, only=only)
    if isinstance(after, UnreadableRevision):
        return after
    if commit.parent is None:
        return Side({}, ()), _side(key, after, paths_of(after, key))
    before = revisions.world_at(commit.parent, only=only)
    if isinstance(before, UnreadableRevision):
        return before
    paths = paths_of(before, key) | paths_of(after, key)
    return _side(key, before, paths), _side(key, after, paths)


def _side(key: ObjectKey, world: World, paths: frozenset[str]) -> Side:
    """Return one side of a commit."""
    files = {path: world.present[path] for path in paths if path in world.present}
    output, dialect = world.outputs.get(key), dialect_of(key.group)
    followed = (
        () if output is None or dialect is None else dialect.view().outputs.follows(output.body)
    )
    placed = None if any(path in world.frozen for path in paths) else placed_on(world, key)
    return Side(files, placed, followed)


def carriers_of(world: World, key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the placements that carry an object along, sorted."""
    carriers = (
        carrier for dialect in DIALECTS for carrier in dialect.view().world.carriers(world, key)
    )
    return tuple(sorted(carriers))
