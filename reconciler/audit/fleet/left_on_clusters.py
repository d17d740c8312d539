"""What is left on clusters: which objects, when each goes by itself, or why it does not.

No rule is written here: passes are computed as in a foresight, and what is there is looked at again
after each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reconciler.audit.fleet.placed import decided_on
from reconciler.audit.fleet.placed_objects import PlacedObjects
from reconciler.audit.previews.edits import cluster_views
from reconciler.audit.previews.foresight import cause_words, passes_of_each
from reconciler.core.asked import Passes
from reconciler.core.changes import Outcome
from reconciler.core.dialects import dialect_of
from reconciler.core.inputs.world import faces_of
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.dialects.view import LEAVING, Copies, View, drained_by, is_drained
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.world import World
from reconciler.rebalance.rebalancer_files import decode_record
from reconciler.rebalance.target import REBALANCER

UNASKED = "nothing asks it to leave"
KEPT = "its decision keeps it there"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftThere:
    """One object that a cluster still has.

    Attributes:
        key: What decisions about it bear.
        replicas: How many it has there, 0 where there are none to count.
        why: Why it is there until it goes, a clause.
        at: When it goes by itself, aware UTC, `None` if never.
        lost: How many replicas, or clusters where there are none to count, it has less once it is
            gone: nothing replaces them.
    """

    key: ObjectKey
    replicas: int
    why: str
    at: datetime | None = None
    lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOnCluster:
    """A cluster, whether it is drained, and what is left there, sorted by key."""

    cluster: ObjectKey
    drained: bool
    left: tuple[LeftThere, ...]


class _Present(NamedTuple):
    """How an object is on a cluster: decided for it, or with a copy there that is to go.

    `waits_for` says for what that copy waits, `None` where the object is decided for the cluster.
    """

    replicas: int
    waits_for: str | None


class _Moment(NamedTuple):
    """A world at a moment, and where everything is in it."""

    world: World
    at: datetime
    placed: PlacedObjects


class _Passed(NamedTuple):
    """A pass: what it decided, and how that leaves the world."""

    outcome: Outcome
    left: _Moment


def left_on(
    world: World, clusters: Sequence[ObjectKey], now: datetime, coming: Passes | None = None
) -> list[LeftOnCluster]:
    """Return what clusters have: what is decided for them, and copies that wait for their end.

    Args:
        world: As it is.
        clusters: Some that people wrote.
        now: Moment of the next pass.
        coming: The passes of the next moments, if they were computed before.
    """
    present = _moment(world, now)
    began = {one: _present(present, one, _decided_by(present, one)) for one in clusters}
    if coming is None and any(began.values()):
        memo = Memo()
        (coming,) = passes_of_each([(world, reconcile(world, now, memo=memo))], now, memo=memo)
    passes = list(_leaving(world, coming or []))
    return [_left_on(present, one, began[one], passes) for one in clusters]


def _moment(world: World, at: datetime) -> _Moment:
    return _Moment(world, at, PlacedObjects(world))


def _leaving(world: World, passes: Passes) -> Iterator[_Passed]:
    """Yield passes with the world that each leaves."""
    for at, outcome in passes:
        world = next_world(world, outcome)
        yield _Passed(outcome, _moment(world, at))


def _left_on(
    present: _Moment,
    cluster: ObjectKey,
    began: Mapping[ObjectKey, _Present],
    passes: Sequence[_Passed],
) -> LeftOnCluster:
    """Return what one cluster has."""
    draining = cluster_views()[cluster.group, cluster.kind].clusters.draining
    world = present.world
    drained = is_drained(world.inputs[cluster].body, draining)
    moved_by = [one for one in drained_by(world, cluster, draining) if one[:2] == REBALANCER]
    later = [_present(one.left, cluster, began) for one in passes]
    rows = []
    for key in sorted(began):
        ends = next((n for n, there in enumerate(later) if key not in there), None)
        if ends is None:
            coming = passes[0].left.world  # which knows a rebalancer that no pass has seen yet
            why = _told_by(world, moved_by, key) or _told_by(coming, moved_by, key)
            if moved_by and not drained:
                why = why or _waits_in_steps(began[key])
            why = why or _stays(world, cluster, key, began[key], drained=drained)
        else:
            why = _leaves(key, began[key], list(zip(passes, later, strict=True))[: ends + 1])
        before, after = (one.placed.get(key, ()) for one in (present, passes[-1].left))
        rows.append(
            LeftThere(
                key=key,
                replicas=began[key].replicas,
                why=why,
                at=None if ends is None else passes[ends].left.at,
                lost=0 if ends is None else _lost(before, after),
            )
        )
    drained = drained or bool(moved_by)
    return LeftOnCluster(cluster=cluster, drained=drained, left=tuple(rows))


def _told_by(world: World, rebalancers: Iterable[ObjectKey], key: ObjectKey) -> str:
    """Return what rebalancers say of an object that they are to move, `""` for nothing."""
    for rebalancer in rebalancers:
        output = world.outputs.get(rebalancer)
        listed = () if output is None else decode_record(output.body).workloads
        for report in listed:
            if decided_on(report.reference) == key:
                return report.reason or report.waits_for
    return ""


def _view_of(key: ObjectKey) -> View:
    """Return the answers of the API that decides about an object."""
    dialect = dialect_of(key.group)
    if dialect is None:
        raise ValueError(f"no API decides about {key}")
    return dialect.view()


def _decided_by(present: _Moment, cluster: ObjectKey) -> list[ObjectKey]:
    """Return the objects that the APIs which see a cluster decide about."""
    seeing = {dialect_of(face.group) for face in faces_of(present.world, cluster)}
    return [key for key in present.placed if dialect_of(key.group) in seeing]


def _present(
    moment: _Moment, cluster: ObjectKey, keys: Iterable[ObjectKey]
) -> dict[ObjectKey, _Present]:
    """Return which of some objects are on a cluster, and how."""
    name = ClusterName(cluster.name)
    copies: dict[str, Copies] = {}
    present = {}
    for key in keys:
        placed = dict(moment.placed.get(key, ()))
        if name in placed:
            present[key] = _Present(placed[name], None)
            continue
        if key.group not in copies:
            copies[key.group] = _view_of(key).world.copies(moment.world, moment.at)
        for copy in copies[key.group](key) if key in moment.placed else ():
            if copy.leaving and copy.cluster == name:
                present[key] = _Present(copy.replicas, copy.waits_for)
        if key not in present and _is_left(moment.world, key, name):
            present[key] = _Present(0, None)
    return present


def _is_left(world: World, key: ObjectKey, cluster: ClusterName) -> bool:
    """Return whether a decision still lists a cluster, until what replaces it is ready."""
    listed = _view_of(key).world.chosen(world, key) or ()
    return any(one.name == cluster and one.reason == LEAVING for one in listed)


def _leaves(
    key: ObjectKey,
    began: _Present,
    until: Sequence[tuple[_Passed, Mapping[ObjectKey, _Present]]],
) -> str:
    """Return why an object is there until the last of some passes, after which it is gone."""
    if began.waits_for is not None:
        return _waits(began.waits_for)
    decided = (one for one, there in until if key not in there or there[key].waits_for is not None)
    causes = {one.key: cause_words(one) for one in next(decided).outcome.decisions}
    waiting = [there[key].waits_for for _, there in until if key in there]
    copies = [_waits(one) for one in waiting if one]
    return "; then ".join((causes.get(key, KEPT), *copies[:1]))


def _stays(
    world: World, cluster: ObjectKey, key: ObjectKey, began: _Present, *, drained: bool
) -> str:
    """Return why an object does not go by itself."""
    if began.waits_for is not None:
        return _waits(began.waits_for)
    if not drained:
        return UNASKED
    return _view_of(key).clusters.draining.stays(world, key, ClusterName(cluster.name)) or KEPT


def _waits_in_steps(began: _Present) -> str:
    """Return why an object is there that a rebalancer says nothing of; a set has no word in it."""
    return KEPT if began.waits_for is None else _waits(began.waits_for)


def _waits(what: str) -> str:
    return f"its copy waits for {what}" if what else "its copy is to go"


def _lost(before: Placed, after: Placed) -> int:
    """Return how many replicas, or clusters if none are counted, are gone without another."""
    if any(count for _, count in before):
        return max(sum(count for _, count in before) - sum(count for _, count in after), 0)
    return max(len(before) - len(after), 0)
