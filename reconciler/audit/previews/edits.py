"""What-if: pure changes of a world, each from World to World, and which cluster hurts most to lose.

An edited object moves to a file of its own in this world, so that its neighbours stay as they are.
To rank clusters, each fails in turn, and the pass says what follows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.audit.previews.preview import Preview, preview
from reconciler.core.dialects import CLUSTERS, DIALECTS
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.view import View, unknown_since
from reconciler.errors import UsageError
from reconciler.manifests.edits.changes import replica_field
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.positions import Spot, locate_all
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.kinds import Kind
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, replace
from reconciler.model.text import shown
from reconciler.model.world import Fault, Manifest, World
from reconciler.multicluster.cluster_profile import CLUSTER_PROFILE, HEALTHY
from reconciler.rebalance.target import REBALANCER

FOLDER = "simulated"
DEMAND = ObjectKey(*REBALANCER, "", "simulated")


Edit = Callable[[World], World]


@dataclass(frozen=True, slots=True)
class Named:
    """An edit, and what it is in words."""

    words: str
    edit: Edit


def apply_edits(world: World, edits: Iterable[Named]) -> World:
    """Apply edits one after the other."""
    for named in edits:
        world = named.edit(world)
    return world


def clusters_named(world: World, name: str) -> tuple[ObjectKey, ...]:
    """Return the clusters of this name in all APIs; `kind/name` narrows it to one.

    Raises:
        UsageError: There is none.
    """
    kind, _, short = name.rpartition("/")
    keys = [
        key
        for key in sorted(world.inputs)
        if (key.group, key.kind) in CLUSTERS
        and key.name == short
        and kind.lower().removesuffix("s") in ("", key.kind.lower())
    ]
    if not keys:
        names = sorted({key.name for key in world.inputs if (key.group, key.kind) in CLUSTERS})
        listed = ", ".join(names[:20]) or "none at all"
        raise UsageError(f"there is no cluster {shown(name)}; known here: {listed}")
    return tuple(keys)


def fail(keys: Sequence[ObjectKey], at: datetime) -> Edit:
    """Let clusters be unreachable from a moment on, as each API has it."""
    views, moment = cluster_views(), format_moment(at)

    def failed(key: ObjectKey, body: Body) -> Body:
        if key[:2] == CLUSTER_PROFILE:
            status = mapping(body, "status")
            conditions = bodies(status, "conditions")
            return {**body, "status": unknown_since(status, conditions, HEALTHY, moment)}
        return views[key.group, key.kind].clusters.unreachable(body, moment)

    return lambda world: _edited(world, keys, failed)


def cordon(keys: Sequence[ObjectKey]) -> Edit:
    """Let clusters take nothing new: the taint that each API's own tool puts.

    Raises:
        UsageError: One of them has no taints.
    """
    views = cluster_views()
    refuse_taintless(keys)

    def tainted(key: ObjectKey, body: Body) -> Body:
        spec = mapping(body, "spec")
        taints = [*bodies(spec, "taints"), views[key.group, key.kind].clusters.cordon]
        return {**body, "spec": {**spec, "taints": taints}}

    return lambda world: _edited(world, keys, tainted)


def remove(keys: Sequence[ObjectKey]) -> Edit:
    """Take objects away, and the files that held nothing else."""

    def edit(world: World) -> World:
        gone = set(keys)
        inputs = {key: manifest for key, manifest in world.inputs.items() if key not in gone}
        full = {manifest.origin.path for manifest in inputs.values()}
        emptied = {world.inputs[key].origin.path for key in gone & world.inputs.keys()} - full
        blobs = {path: blob for path, blob in world.blobs.items() if path not in emptied}
        return replace(world, inputs=inputs, blobs=blobs, kinds=world.kinds.next())

    return edit


def add(manifests: Sequence[tuple[ObjectKey, Body]]) -> Edit:
    """Put objects in, in the place of those of the same identity."""

    def edit(world: World) -> World:
        return put(world, dict(manifests))

    return edit


def scale(key: ObjectKey, replicas: int) -> Edit:
    """Let a workload want so many replicas."""
    field = replica_field(key.kind)

    def scaled(_: ObjectKey, body: Body) -> Body:
        spec = body.get("spec")  # anything: a workload is not checked
        return {**body, "spec": {**(spec if isinstance(spec, Mapping) else {}), field: replicas}}

    return lambda world: _edited(world, (key,), scaled)


def set_field(key: ObjectKey, pointer: str, value: object) -> Edit:
    """Set the field that a JSON pointer names; `None` removes it.

    Raises:
        UsageError: When it is applied: the pointer leads through something that has no fields.
    """
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]

    def changed(_: ObjectKey, body: Body) -> Body:
        edited = _with(body, parts, value, pointer)
        return edited if isinstance(edited, Mapping) else body

    return lambda world: _edited(world, (key,), changed)


def rebalance(targets: Sequence[Body]) -> Edit:
    """Demand that workloads are scheduled afresh, by a WorkloadRebalancer.

    Args:
        targets: apiVersion, kind, namespace and name of each.
    """
    body: Body = {
        "apiVersion": f"{DEMAND.group}/v1alpha1",
        "kind": DEMAND.kind,
        "metadata": {"name": DEMAND.name},
        "spec": {"workloads": list(targets)},
    }
    return lambda world: put(world, {DEMAND: body})


def put(world: World, changed: Mapping[ObjectKey, Body]) -> World:
    """Return the world with objects in the place of those of the same identity."""
    inputs, blobs = dict(world.inputs), dict(world.blobs)
    for key, body in changed.items():
        scope = f"{key.namespace}/" if key.namespace else ""
        path = f"{FOLDER}/{key.kind.lower()}.{key.group or 'core'}/{scope}{key.name}.yaml"
        blobs[path] = blob_id(encode(body).encode(), like=world.revision)
        inputs[key] = Manifest(key, Origin(path), body)
    there = {key: inputs[key] for key in sorted(inputs)}
    return replace(world, inputs=there, blobs=blobs, kinds=world.kinds.next())


def at_their_files(
    preview: Preview,
    merged: World,
    places: Mapping[ObjectKey, Origin],
    files: Mapping[str, bytes | None],
) -> Preview:
    """Return a preview of edits whose faults are at the files that people write.

    Args:
        preview: Of the world with the edits.
        merged: That world, in which each edited object has a file of its own.
        places: Where people write these objects.
        files: The texts of these files with the edits.
    """
    homes = {merged.inputs[key].origin.path: place for key, place in places.items()}

    def at_home(fault: Fault) -> Fault:
        place = homes.get(fault.path)
        if place is None:
            return fault
        spot = Spot(place.index, f"{place.pointer}{fault.field}")
        line, column = locate_all(files.get(place.path) or b"", [spot])[spot]
        return replace(fault, path=place.path, line=line, column=column, field=spot.pointer)

    faults = dict.fromkeys(map(at_home, preview.faults))
    return replace(
        preview,
        faults=tuple(one for one in faults if one not in preview.mended),
        mended=tuple(one for one in preview.mended if one not in faults),
    )


def _edited(
    world: World, keys: Iterable[ObjectKey], change: Callable[[ObjectKey, Body], Body]
) -> World:
    """Return the world with some objects changed."""
    return put(world, {key: change(key, world.inputs[key].body) for key in keys})


def refuse_taintless(keys: Iterable[ObjectKey]) -> None:
    """Refuse clusters whose kind has no taints.

    Raises:
        UsageError: One of them is a ClusterProfile.
    """
    for key in keys:
        if key[:2] == CLUSTER_PROFILE:
            raise UsageError(
                f"a {key.kind} has no taints; declare {key.name} as a cluster of an API that has, "
                "which then counts instead"
            )


def cluster_views() -> dict[Kind, View]:
    """Return the answers of each API by the kind of its clusters."""
    return {dialect.cluster: dialect.view() for dialect in DIALECTS}


def _with(value: object, parts: Sequence[str], new: object, pointer: str) -> object:
    """Return a value with the field below it set."""
    if not parts:
        return new
    head, *rest = parts
    if isinstance(value, list | tuple):
        items = list(value)
        if head == "-":
            return [*items, _with({}, rest, new, pointer)]
        if not head.isdecimal() or int(head) >= len(items):
            raise UsageError(
                f"{shown(pointer)}: there is no item {shown(head)}; there are {len(items)}"
            )
        items[int(head)] = _with(items[int(head)], rest, new, pointer)
        return [item for item in items if item is not None]
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{shown(pointer)} leads through {shown(value)}, which has no fields")
    members = dict(value or {})
    below = _with(members.get(head), rest, new, pointer)
    if below is None:
        members.pop(head, None)
        return members
    return {**members, head: below}


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What the failure of one cluster brings about.

    Attributes:
        cluster: The cluster that fails.
        short: Objects that would get fewer clusters than they ask for, sorted.
        lost: Replicas that would run nowhere.
        moving: Replicas that would run elsewhere.
        objects: Objects that the failure changes at all.
    """

    cluster: ObjectKey
    short: tuple[str, ...]
    lost: int
    moving: int
    objects: int


def clusters_of(world: World) -> tuple[ObjectKey, ...]:
    """Return every cluster of every API, sorted."""
    return tuple(key for key in sorted(world.inputs) if (key.group, key.kind) in CLUSTERS)


def assess(
    world: World,
    clusters: Iterable[ObjectKey],
    *,
    failed_at: datetime,
    now: datetime,
    memo: Memo | None = None,
) -> Iterator[Impact]:
    """Yield what the failure of each cluster alone brings about, in the order given.

    Args:
        world: Where all of them are well, or as well as they are.
        clusters: Who fails, one after the other.
        failed_at: Since when.
        now: Moment of the pass.
        memo: What earlier calls about this world remember; it only saves work.
    """
    memo = Memo() if memo is None else memo
    baseline = reconcile(world, now, memo=memo)
    for key in clusters:
        failing = apply_edits(world, [Named(key.name, fail((key,), failed_at))])
        foreseen = preview(world, failing, now, baseline=baseline, memo=memo, warns=False)
        yield _impact(key, foreseen)


def ranked(impacts: Iterable[Impact]) -> list[Impact]:
    """Return the worst first: objects short of clusters, replicas lost, replicas moving."""
    return sorted(
        impacts,
        key=lambda impact: (-len(impact.short), -impact.lost, -impact.moving, impact.cluster),
    )


def _impact(key: ObjectKey, preview_of_failure: Preview) -> Impact:
    return Impact(
        cluster=key,
        short=tuple(sorted(entry.subject for entry in preview_of_failure.entries if entry.problem)),
        lost=preview_of_failure.counts.stopping,
        moving=preview_of_failure.counts.moving,
        objects=len(preview_of_failure.entries),
    )
