"""What commits moved: one commit, moves by the hour, and the parts at each moment.

The moves of a commit follow from the outputs that it changed; no pass is computed again. The series
over time reads nothing: it is given the newest commits with their moves, and the present.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reconciler.audit.fleet.placed import owner_of
from reconciler.audit.history.events import Texts, changed_outputs
from reconciler.audit.history.revisions import FileChange
from reconciler.audit.previews.placement_moves import (
    PlacementMove,
    moves_of,
    parts_in,
    traffic,
)
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.manifests.paths import folder_of
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey, RepositoryLayout
from reconciler.model.moments import span
from reconciler.model.records import dataclass

IN_PARTS = frozenset(
    folder_of(*kind) for dialect in DIALECTS for pair in dialect.parts.items() for kind in pair
)
"""Where outputs stand that are told together: decisions that are written in parts, and these."""


@dataclass(frozen=True, slots=True)
class ObjectMoves:
    """The clusters of one object where its part is another one, ascending by name."""

    key: ObjectKey
    moves: tuple[PlacementMove, ...]


def moves_of_commit(
    changes: Sequence[FileChange], texts: Texts, layout: RepositoryLayout
) -> tuple[ObjectMoves, ...]:
    """Return what a commit moved, sorted by object.

    Args:
        changes: What it changed.
        texts: Every blob that `commit_events.needed` names.
        layout: Where the outputs are.
    """
    sides: dict[ObjectKey, tuple[dict[str, int], dict[str, int]]] = {}
    for key, before, after in changed_outputs(changes, texts, layout):
        owner = key if (key.group, key.kind) in PLACED else owner_of(key, after or before or {})
        dialect = dialect_of(key.group)
        if owner is None or dialect is None:
            continue
        then, later = sides.setdefault(owner, ({}, {}))
        if key == owner and (owner.group, owner.kind) in dialect.parts:
            continue  # its clusters stand in its parts
        then.update(_clusters(before, key))
        later.update(_clusters(after, key))
    return differences(
        {key: _placed(then) for key, (then, _) in sides.items()},
        {key: _placed(later) for key, (_, later) in sides.items()},
    )


def pieces_of(
    changes: Sequence[FileChange], layout: RepositoryLayout, size: int
) -> Iterator[Sequence[FileChange]]:
    """Yield what a commit changed in pieces whose moves are told one after the other.

    What one object's clusters stand in is in one piece: where an API has parts of decisions, all of
    these are.

    Args:
        changes: What it changed.
        layout: Where the outputs are.
        size: How many changes a piece has, but for those of parts.
    """
    root = f"{layout.output_root}/"
    parts: list[FileChange] = []
    own: list[FileChange] = []
    for change in changes:
        folder = change.path.removeprefix(root).partition("/")[0]
        (parts if folder in IN_PARTS else own).append(change)
    yield from (own[at : at + size] for at in range(0, len(own), size))
    if parts:
        yield parts


def differences(
    before: Mapping[ObjectKey, Placed], after: Mapping[ObjectKey, Placed]
) -> tuple[ObjectMoves, ...]:
    """Return what is elsewhere on two sides, sorted by object."""
    moved = []
    for key in sorted(before.keys() | after.keys()):
        then, later = before.get(key, ()), after.get(key, ())
        moves = tuple(one for one in moves_of(then, later) if one.before != one.after)
        if moves:
            moved.append(ObjectMoves(key, moves))
    return tuple(moved)


def _clusters(body: Body | None, key: ObjectKey) -> Iterable[tuple[str, int]]:
    """Return the clusters that stand in an output, none of one that is not there."""
    dialect = dialect_of(key.group)
    return () if body is None or dialect is None else dialect.view().outputs.clusters_in(body)


def _placed(replicas: Mapping[str, int]) -> Placed:
    return tuple((ClusterName(name), replicas[name]) for name in sorted(replicas))


HOUR = span(seconds=3600)


class ClusterMoves(NamedTuple):
    """What became of one cluster: replicas that came and left, replicas and objects more or fewer.

    `apart` is how many copies came or left of objects that have no replicas to count.
    """

    came: int = 0
    left: int = 0
    replicas: int = 0
    objects: int = 0
    apart: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMoves:
    """What one commit moved.

    Attributes:
        revision: Full hex id.
        at: Moment of the pass, of a person's commit that of the commit.
        objects: What it moved by object; `None` where that is not known.
        clusters: The same by cluster, empty where it is not known.
    """

    revision: str
    at: datetime
    objects: Mapping[ObjectKey, ObjectMoves] | None
    clusters: Mapping[str, ClusterMoves]

    def on(self, cluster: str) -> ClusterMoves:
        """Return what became of a cluster, of all of them for `""`."""
        if cluster:
            return self.clusters.get(cluster, ClusterMoves())
        return ClusterMoves(*(sum(column) for column in zip(*self.clusters.values(), strict=True)))


def commit_moves(revision: str, at: datetime, moves: Iterable[ObjectMoves] | None) -> CommitMoves:
    """Return what a commit moved, counted.

    Args:
        revision: Full hex id.
        at: Its moment.
        moves: What it moved, `None` where that is not known.
    """
    if moves is None:
        return CommitMoves(revision=revision, at=at, objects=None, clusters={})
    objects = {one.key: one for one in moves}
    clusters: dict[str, ClusterMoves] = {}
    for object_moves in objects.values():
        for move in object_moves.moves:
            came, went, apart = traffic((move,))
            objects_more = (move.after is not None) - (move.before is not None)
            more = ClusterMoves(came, went, move.delta, objects_more, apart)
            cluster_moves = clusters.get(move.cluster, ClusterMoves())
            clusters[move.cluster] = ClusterMoves(*map(sum, zip(cluster_moves, more, strict=True)))
    return CommitMoves(revision=revision, at=at, objects=objects, clusters=clusters)


class HourMoves(NamedTuple):
    """What moved within an hour: replicas, and `apart` copies of what has none.

    `begins` is its first moment, `unknown` how many commits are not known in it, `newest` the
    newest commit that moved something, `""` for none.
    """

    begins: datetime
    came: int = 0
    left: int = 0
    unknown: int = 0
    newest: str = ""
    apart: int = 0


def moves_by_hour(
    moves: Iterable[CommitMoves], until: datetime, hours: int, cluster: str = ""
) -> list[HourMoves]:
    """Return what moved in each of the last hours, the oldest first.

    Args:
        moves: The newest commits, the newest first.
        until: A moment of the last hour, aware UTC; what came later counts to that hour.
        hours: How many.
        cluster: Only what became of one cluster, `""` for all.
    """
    last = until.replace(minute=0, second=0, microsecond=0)
    slots = [HourMoves(last - HOUR * back) for back in range(hours)]
    for moves_of_commit in moves:
        back = max(0, -((moves_of_commit.at - last) // HOUR))
        if back >= hours:
            continue
        slot, moved = slots[back], moves_of_commit.on(cluster)
        slots[back] = HourMoves(
            slot.begins,
            slot.came + moved.came,
            slot.left + moved.left,
            slot.unknown + (moves_of_commit.objects is None),
            slot.newest
            or (moves_of_commit.revision if moved.came or moved.left or moved.apart else ""),
            slot.apart + moved.apart,
        )
    return slots[::-1]


class PartsSince(NamedTuple):
    """What there was from a moment on: cluster to parts; `revision` is the commit that did it."""

    at: datetime
    parts: Mapping[str, int]
    revision: str


class OverTime(NamedTuple):
    """How something changed.

    `steps` are the changes, the oldest first; `before` is what there was before the first of them,
    `since` the oldest moment of which that is known, `None` where no commit is known.
    """

    before: Mapping[str, int]
    since: datetime | None
    steps: Sequence[PartsSince]


def object_over_time(key: ObjectKey, placed: Placed, moves: Iterable[CommitMoves]) -> OverTime:
    """Return where an object was, cluster by cluster: replicas, or 1 where it has none to count.

    Args:
        key: What decisions about the object bear.
        placed: Where it is now.
        moves: The newest commits, the newest first; those before one that is not known are of no
            use.
    """
    parts = {str(name): parts_in(count) for name, count in placed}
    steps: list[PartsSince] = []
    since: datetime | None = None
    for moves_of_commit in moves:
        if moves_of_commit.objects is None:
            break
        since = moves_of_commit.at
        if (moved := moves_of_commit.objects.get(key)) is not None:
            steps.append(
                PartsSince(
                    moves_of_commit.at, dict(sorted(parts.items())), moves_of_commit.revision
                )
            )
            for move in moved.moves:
                parts[move.cluster] = parts_in(move.before)
            parts = {name: count for name, count in parts.items() if count}
    return OverTime(dict(sorted(parts.items())), since, steps[::-1])


def cluster_over_time(
    cluster: str, now: ClusterMoves, moves: Iterable[CommitMoves]
) -> tuple[OverTime, bool]:
    """Return how much a cluster had, and whether that is told in replicas.

    It is told in objects where none had replicas to count.

    Args:
        cluster: Its name.
        now: The `replicas` and `objects` that it has.
        moves: As for `object_over_time`.
    """
    before, since = now, None
    steps: list[tuple[CommitMoves, ClusterMoves]] = []
    for moves_of_commit in moves:
        if moves_of_commit.objects is None:
            break
        since, moved = moves_of_commit.at, moves_of_commit.on(cluster)
        if moved.replicas or moved.objects:
            steps.append((moves_of_commit, before))
            before = ClusterMoves(
                replicas=before.replicas - moved.replicas, objects=before.objects - moved.objects
            )
    in_replicas = any(then.replicas for _, then in steps)

    def parts(then: ClusterMoves) -> dict[str, int]:
        return {cluster: then.replicas if in_replicas else then.objects}

    rows = [PartsSince(one.at, parts(then), one.revision) for one, then in reversed(steps)]
    return OverTime(parts(before), since, rows), in_replicas
