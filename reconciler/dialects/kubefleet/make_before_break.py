"""A placement that is made before it breaks: new bindings first, old ones once those are available.

A rebalance chooses clusters afresh; that is the goal. Each step exchanges a few clusters: those
that come get bindings, those that go are marked Unscheduled at once, so the scheduler sees as many
as it wants, and the rollout has to keep them. It may delete one as soon as a binding that the step
made is available, by a report of a copy that bears the moment of the step. What is not available by
the deadline is given back: the new binding goes, the old one gets the state back that it had.

What is under way stands in two annotations of the placement's status file: the goal with the
bindings that are kept, and the surge as every API writes it.

Source: ours; `rebalance/surge.py` is the machine of the steps.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    decode_binding,
    decode_placement_status,
    previous_state,
    reassigned,
    unscheduled,
)
from reconciler.dialects.kubefleet.api.member import Members, members_of
from reconciler.dialects.kubefleet.api.names import (
    BINDINGS,
    BOUND,
    POLICY_SNAPSHOTS,
    SCHEDULED,
    UNSCHEDULED,
    is_placement,
    subject_of,
)
from reconciler.dialects.kubefleet.api.placement import (
    PICK_N,
    ROLLING_UPDATE,
    Placement,
    decode_placement,
    share_of,
)
from reconciler.dialects.kubefleet.api.snapshots import PolicySnapshotStatus, is_latest
from reconciler.dialects.kubefleet.rollout.availability import AvailabilityReports
from reconciler.dialects.kubefleet.rollout.rollout import REPORT_DIFF, is_available
from reconciler.dialects.kubefleet.scheduler.picks import adopt
from reconciler.dialects.kubefleet.scheduler.plugins import (
    PlacementRoom,
    Request,
    filter_members,
)
from reconciler.dialects.kubefleet.scheduler.schedule import schedule
from reconciler.dialects.kubefleet.scheduler.topology import Topology
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import (
    Snapshot,
    SnapshotReport,
    decode_snapshot,
    list_decisions,
    report_status,
)
from reconciler.dialects.view import MergeEffects, Warned
from reconciler.errors import UserError
from reconciler.manifests.admission import read_note, write_note
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    Wait,
)
from reconciler.model.fields import at
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment, is_moment, parse_moment, stamp
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Manifest
from reconciler.rebalance.surge import (
    SURGE,
    StepResult,
    Surge,
    begin,
    encode_surge,
    given_back,
    go_on,
    surge_in,
)

MOVING_TO = "reconciler.dev/moving-to"
"""Annotation of a placement's status file: where it goes, since when, and what is kept so far."""
STAYING = (SCHEDULED, BOUND)

Bindings = Mapping[str, Binding]
"""The bindings of a placement by name."""


class SteppedMove(NamedTuple):
    """A move that is not over.

    Attributes:
        goal: The clusters that it ends on.
        asked_at: The moment of the demand.
        kept: The clusters whose bindings are Unscheduled, and stay until as many are available.
        surge: The clusters that are not available yet, `None` between two steps.
    """

    goal: frozenset[ClusterName]
    asked_at: datetime
    kept: frozenset[ClusterName] = frozenset()
    surge: Surge | None = None


def move_in(record: Body | None) -> SteppedMove | None:
    """Return the move of a placement's status file, `None` if there is none or it was garbled."""
    notes = at({} if record is None else record, "metadata", "annotations")
    note = read_note(str(notes.get(MOVING_TO, "")))
    goal, kept, asked_at = note.get("clusters"), note.get("kept", []), note.get("askedAt")
    if not isinstance(goal, list) or not isinstance(kept, list) or not is_moment(asked_at):
        return None
    return SteppedMove(
        goal=frozenset(map(ClusterName, map(str, goal))),
        asked_at=parse_moment(str(asked_at)),
        kept=frozenset(map(ClusterName, map(str, kept))),
        surge=None if record is None else surge_in(record),
    )


def _notes_of(move: SteppedMove) -> dict[str, str]:
    note: dict[str, object] = {
        "askedAt": format_moment(move.asked_at),
        "clusters": sorted(move.goal),
    }
    if move.kept:
        note["kept"] = sorted(move.kept)
    beside = encode_surge(move.surge)
    return {MOVING_TO: write_note(note), **({SURGE: beside} if beside else {})}


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """What is asked of a placement in a pass, beside what is under way.

    `move` is what earlier passes left to be done, `demand` a rebalancer's, `None` if there is none.
    `withdrawn` says that nobody asks for the move any more.
    """

    move: SteppedMove | None = None
    demand: RescheduleTrigger | None = None
    withdrawn: bool = False

    @property
    def stepped(self) -> RescheduleTrigger | None:
        """The demand if it is to be made before it breaks, else `None`."""
        return self.demand if self.demand is not None and self.demand.surge is not None else None

    @property
    def is_at_once(self) -> bool:
        """Whether a rebalancer demands something that moves at once."""
        return self.demand is not None and self.demand.surge is None

    @property
    def is_ended(self) -> bool:
        """Whether the goal of before counts no more: nobody asks for it, or for another one."""
        fresh = self.demand is not None and self.demand.fresh
        return self.withdrawn or self.is_at_once or fresh


NO_MOVE = MoveRequest()


def with_notes(metadata: Body, move: SteppedMove | None) -> Body:
    """Return the metadata of a status file with what is under way, and nothing of before."""
    notes = at(metadata, "annotations")
    if move is None and MOVING_TO not in notes and SURGE not in notes:
        return metadata
    kept = {name: value for name, value in notes.items() if name not in (MOVING_TO, SURGE)}
    return {**metadata, "annotations": {**kept, **({} if move is None else _notes_of(move))}}


class MovedPlacement(NamedTuple):
    """What a pass made of a placement that moves in steps.

    Attributes:
        move: What is still under way, `None` if nothing is.
        step: What became of the step before, `None` if there was none.
        begun: The step that began, `None` if none did.
        given_up: Why the goal will not be reached, `""` if it may.
        followed: Whether it went on to the goal of an earlier demand.
        by: Who brought about the step before, `""` without one.
        reached: Whether that step ended where the goal is.
    """

    move: SteppedMove | None = None
    step: StepResult | None = None
    begun: Surge | None = None
    given_up: str = ""
    followed: bool = False
    by: str = ""
    reached: bool = False

    @property
    def started(self) -> int | None:
        """How many clusters this pass began with beside others, `None` where nothing is stepped."""
        if self.begun is not None:
            return self.begun.size
        return None if self.step is None else 0

    def meets(self, demand: RescheduleTrigger | None) -> bool:
        """Return whether it brought about what was demanded in this pass, or earlier."""
        if self.given_up or self.reached or (self.step is not None and self.step.is_taken):
            return True
        if demand is None or demand.surge is None or demand.fresh:
            return demand is not None
        return self.followed

    @property
    def news(self) -> str:
        """What became of a step, and that one began, for people; `""` for nothing."""
        parts = [] if self.step is None or not self.step.news else [self.step.news]
        if self.begun is not None:
            parts.append(f"starts {self.begun.waits_for}")
        return "; ".join(parts)

    def left(self, bindings: Bindings) -> int:
        """Return how many clusters of the goal do not count yet, given the bindings afterwards."""
        return 0 if self.move is None else len(clusters_left(self.move, bindings.values()))


UNMOVED = MovedPlacement()


def clusters_left(move: SteppedMove, bindings: Iterable[Binding]) -> frozenset[ClusterName]:
    """Return the clusters of a goal that a placement is not on, or not available on yet."""
    waiting = frozenset() if move.surge is None else move.surge.clusters
    there = {one.target for one in bindings if one.state in STAYING}
    return move.goal - (there - waiting)


def is_reachable(
    move: SteppedMove,
    snapshot: Snapshot,
    bindings: Iterable[Binding],
    members: Members,
    now: datetime,
) -> bool:
    """Return whether every cluster that is still to be reached passes the filters.

    How the placement is spread does not count: that was judged for all of them together.
    """
    policy = replace(snapshot.policy, constraints=())
    request = Request(policy=policy, topology=Topology(), namespace=snapshot.namespace)
    feasible, _ = filter_members(request, members, now)
    left = clusters_left(move, bindings)
    wanted = members.fleet.named(left)
    return wanted.bit_count() == len(left) and not wanted & ~feasible


def steps_left(
    move: SteppedMove, outputs: Mapping[ObjectKey, Body], members: Members, now: datetime
) -> int | None:
    """Return how many clusters of a goal are left, `None` if it cannot be reached any more.

    Args:
        move: The move.
        outputs: The files of the placement.
        members: Everyone, at `now`.
        now: Moment of the pass.
    """
    latest = next(
        (b for k, b in outputs.items() if k.kind in POLICY_SNAPSHOTS and is_latest(b)), None
    )
    if latest is None:
        return None
    try:
        bindings = [decode_binding(body) for key, body in outputs.items() if key.kind in BINDINGS]
        reachable = is_reachable(move, decode_snapshot(latest), bindings, members, now)
    except UserError:
        return None
    return len(clusters_left(move, bindings)) if reachable else None


@dataclass(frozen=True, slots=True)
class StepReports:
    """What a step is judged by: the reports, and whether nothing of it may wait any longer.

    `suspended` is that nothing may be taken of it.
    """

    reports: AvailabilityReports
    interrupted: bool = False
    suspended: bool = False


def go_on_moving(
    move: SteppedMove, bindings: Bindings, members: Members, state: StepReports, now: datetime
) -> tuple[MovedPlacement, Bindings]:
    """Take what is available of a step; give back the rest where it must not wait any longer.

    A binding that is kept and is not there any more, or whose cluster is gone, was taken by
    somebody else: as many of the new ones count from now on.
    """
    if move.surge is None:
        return MovedPlacement(move), bindings
    surge, began_at = move.surge, move.surge.began_at
    staying = {one.target: one for one in bindings.values() if one.state in STAYING}
    kept = {
        one.target: one
        for one in bindings.values()
        if one.state == UNSCHEDULED and one.target in move.kept and _is_there(one, members)
    }

    def ready(cluster: ClusterName, _: int) -> bool:
        own = staying[cluster]
        return not state.suspended and state.reports.has_made(own, began_at)

    doubled = sorted(name for name in surge.clusters if name in staying)
    doubled.sort(key=lambda name: ready(name, 1))
    surge = replace(surge, doubled=dict.fromkeys(sorted(doubled[: len(kept)]), 1))
    counting = staying.keys() - surge.clusters
    found = go_on(
        surge,
        dict.fromkeys((*counting, *kept), 1),
        dict.fromkeys(staying, 1),
        ready,
        now,
        interrupted=state.interrupted,
    )
    given_up = ""
    if found.late:
        late = ", ".join(sorted(found.returned))
        given_up = f"not ready on {late} by {format_moment(surge.deadline)}"
    still = frozenset(kept.keys() & found.placed.keys())
    ended = found.surge is None
    after = _returned(bindings, found.returned, still) if ended else bindings
    goes_on = move._replace(kept=frozenset() if ended else still, surge=found.surge)
    moved = None if given_up else goes_on
    return MovedPlacement(moved, found, given_up=given_up, by=surge.by), after


def _is_there(binding: Binding, members: Members) -> bool:
    position = members.fleet.position.get(binding.target)
    return position is not None and not members.fleet.clusters[position].deleting


def _returned(
    bindings: Bindings, returned: Mapping[ClusterName, int], kept: frozenset[ClusterName]
) -> Bindings:
    """Return bindings without those that are given back, and with those that were kept for them.

    One that is available goes as fast as the rollout lets it.
    """
    found: dict[str, Binding] = {}
    for name, binding in bindings.items():
        if binding.state in STAYING and binding.target in returned:
            if is_available(binding):
                found[name] = unscheduled(binding)
        elif binding.state == UNSCHEDULED and binding.target in kept:
            state = previous_state(binding)
            found[name] = reassigned(
                binding, binding.decision, binding.policy_snapshot, state=state
            )
        else:
            found[name] = binding
    return found


class BegunPlacement(NamedTuple):
    """A placement after a demand: what is under way, and its bindings."""

    moved: MovedPlacement
    bindings: Bindings


def begin_moving(
    snapshot: Snapshot,
    bindings: Bindings,
    members: Members,
    now: datetime,
    demand: RescheduleTrigger,
    moved: MovedPlacement,
    placement: Placement,
    room: PlacementRoom | None,
) -> BegunPlacement:
    """Begin the next step of what a rebalancer demands, if there is one left to make.

    Args:
        snapshot: The present policy, by which all bindings that stay were decided.
        bindings: By name; nothing but a step has kept any of them.
        members: Everyone, at `now`.
        now: Moment of the pass.
        demand: With how much may be doubled.
        moved: What became of the step before.
        placement: Says how many bindings may be added at a time.
        room: What is free for it, `None` where no room is protected.

    Raises:
        UnexpectedBehavior: The scheduler cannot go on.
    """
    limits, move = demand.surge, moved.move
    if limits is None or (move is not None and move.surge is not None):
        return BegunPlacement(moved, bindings)
    if not demand.fresh and (
        move is None or not is_reachable(move, snapshot, bindings.values(), members, now)
    ):
        return BegunPlacement(moved._replace(move=None), bindings)
    among = _without(members, limits.leaving)
    fresh = schedule(snapshot, (), among, now, room)
    if fresh.error is not None:
        raise fresh.error
    decisions = {one.target: one.decision for one in fresh.bindings.values()}
    goal = frozenset(decisions) if move is None or demand.fresh else move.goal
    staying = sorted(
        (one for one in bindings.values() if one.state in STAYING), key=lambda one: one.name
    )
    placed, wanted = dict.fromkeys((one.target for one in staying), 1), snapshot.number_of_clusters
    if min(len(goal), len(placed)) < wanted:
        few = len(goal) if len(goal) < wanted else len(placed)
        why = f"only {few} of {wanted} clusters can be chosen"
        return BegunPlacement(moved._replace(move=None, given_up=why), bindings)
    most = share_of(placement.strategy.max_surge, wanted)
    budget = most if demand.budget is None else min(most, demand.budget)
    surge = begin(placed, dict.fromkeys(goal, 1), limits, budget=budget, by=demand.by, now=now)
    followed = not demand.fresh
    if surge is None:
        return BegunPlacement(moved._replace(move=None, followed=followed), bindings)
    leaves = frozenset(sorted(placed.keys() - goal, reverse=True)[: surge.size])
    stays = {one.target: one.decision for one in staying if one.target not in leaves}
    comes = {name: decisions[name] for name in surge.clusters if name in decisions}
    leaving = (one for one in bindings.values() if one.state == UNSCHEDULED)
    pick = adopt(snapshot, staying, leaving, stays | comes, bindings)
    changed = {one.name: one for one in (*pick.created, *pick.patched, *pick.dropped)}
    begun = SteppedMove(goal, demand.at, kept=leaves, surge=surge)
    return BegunPlacement(
        moved._replace(move=begun, begun=surge, followed=followed), {**bindings, **changed}
    )


def _without(members: Members, leaving: frozenset[ClusterName]) -> Members:
    """Return the fleet without the clusters that are to be left."""
    if leaving.isdisjoint(members.fleet.names):
        return members
    views = (one for one in members.views if one.cluster.name not in leaving)
    found = members_of(views, members.at, heartbeats=members.heartbeats)
    return found.with_scores(members.scores)


def restated(snapshot: Snapshot, bindings: Bindings, now: datetime) -> PolicySnapshotStatus | None:
    """Return what a policy snapshot says of bindings that a step moved, `None` if it says that."""
    staying = sorted(
        (one for one in bindings.values() if one.state in STAYING), key=lambda one: one.name
    )
    names = {one.target for one in staying}
    others = (
        one for one in snapshot.status.decided if not one.selected and one.cluster not in names
    )
    report = SnapshotReport(
        (*list_decisions((staying,)), *others),
        len(staying),
        fulfilled=len(staying) >= snapshot.number_of_clusters,
    )
    return report_status(snapshot, report, at=stamp(now))


EXTERNAL_ROLLOUT = (
    "makeBeforeBreak is not available for a placement that staged update runs roll out"
)
PICKS = "makeBeforeBreak is not available for {}, which does not choose a number of clusters"
NO_SURGE = "its `maxSurge` is 0, so nothing may run beside what it has"
ONLY_DIFFERENCES = "it reports differences and applies nothing"


def why_not_beside(
    placement: Placement, outputs: Mapping[ObjectKey, Body], reports: AvailabilityReports
) -> str:
    """Return why no binding of a placement can be made before it breaks another, `""` if it can.

    Args:
        placement: The placement.
        outputs: Its files.
        reports: What clusters say of it.
    """
    why = _why_not_stepped(placement)
    if why:
        return why
    bindings = [decode_binding(body) for key, body in outputs.items() if key.kind in BINDINGS]
    running = [one for one in bindings if one.state == BOUND]
    if running and not any(map(reports.tells_availability, running)):
        return "no cluster reports whether it is available, so nothing could be seen to be ready"
    return ""


def unmakeable(manifest: Manifest) -> str:
    """Return why a placement, as it is written, cannot be made before it breaks.

    `""` if it may be, if it cannot be read, and of anything else.
    """
    if not is_placement(manifest.key):
        return ""
    try:
        return _why_not_stepped(decode_placement(manifest.body, manifest.key.namespace))
    except UserError:  # a fault of its own says so
        return ""


def _why_not_stepped(placement: Placement) -> str:
    """Return why no binding of a placement may stand beside one that it replaces, `""` if some may.

    That follows from what is written alone.
    """
    strategy = placement.strategy
    if strategy.type != ROLLING_UPDATE:
        return EXTERNAL_ROLLOUT
    kind = str(placement.policy.get("placementType"))
    if kind != PICK_N:
        return PICKS.format(kind)
    if not share_of(strategy.max_surge, placement.wanted or 0):
        return NO_SURGE
    if strategy.apply.get("type") == REPORT_DIFF:
        return ONLY_DIFFERENCES
    return ""


def waits_of(key: ObjectKey, move: SteppedMove | None) -> tuple[Wait, ...]:
    """Return what a placement waits for while a step is under way."""
    if move is None or move.surge is None:
        return ()
    surge, then = move.surge, "what is not ready is given back"
    return (
        Wait(
            until=surge.deadline,
            key=key,
            subject=subject_of(key),
            reason=surge.goes_on,
            then=then,
        ),
    )


def step_events(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield what was given back of a step, and that one began; these events are ours."""
    was, now = move_in(change.before), move_in(change.after)
    before, after = (None if one is None else one.surge for one in (was, now))
    there = {
        ClusterName(one.cluster) for one in decode_placement_status(change.after).clusters or ()
    }
    if before is not None and (after is None or after.began_at != before.began_at):
        gone = dict.fromkeys(before.clusters - there, 1)
        if gone:
            yield change.key, UpstreamEvent(WARNING, "MoveGivenBack", given_back(gone))
    if after is not None and (before is None or before.began_at != after.began_at):
        yield change.key, UpstreamEvent(NORMAL, "MoveStepBegan", after.waits_for)


def warnings_of(effects: MergeEffects) -> Iterator[Warned]:
    """Yield the placements that a merge moves in steps, with the first one and where they end."""
    for decision in effects.caused:
        path = output_path(effects.merged.output_root, decision.key)
        if not is_placement(decision.key) or MOVING_TO not in effects.written.get(path, ""):
            continue
        move = move_in(read(effects.written[path].encode(), path).documents[0].body)
        if move is not None and move.surge is not None:
            goal = ", ".join(sorted(move.goal))
            message = f"it moves in steps, first {move.surge.waits_for}; the goal is {goal}"
            yield Warned("first-batch", decision.subject, message)
