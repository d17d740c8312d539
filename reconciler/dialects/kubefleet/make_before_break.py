"""A placement that is made before it breaks: new bindings first, old ones once those are available.

A rebalance chooses clusters afresh; that is the goal. Each step exchanges a few clusters: those
that come get bindings, those that go are marked Unscheduled at once, so the scheduler sees as many
as it wants, and the rollout has to keep them. It may delete one as soon as a binding that the step
made is available, by a report of a copy that bears the moment of the step. What is not available by
the deadline is given back: the new binding goes, the old one gets the state back that it had.

Source: ours; `dialects/cluster_steps.py` has what is under way, and the machine of the steps.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.cluster_steps import (
    MovedPlacement,
    SteppedMove,
    begin_exchanging,
    clusters_left,
    go_on_exchanging,
    step_events,
    step_warnings,
)
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
    PLACEMENT_GROUP,
    PLACEMENTS,
    POLICY_SNAPSHOTS,
    SCHEDULED,
    UNSCHEDULED,
    is_placement,
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
from reconciler.model.body import Body
from reconciler.model.decision import ObjectEvent, OutputChange
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import stamp
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Manifest

STAYING = (SCHEDULED, BOUND)

Bindings = Mapping[str, Binding]
"""The bindings of a placement by name."""


def chosen_by(bindings: Iterable[Binding]) -> frozenset[ClusterName]:
    """Return the clusters of bindings that stay."""
    return frozenset(one.target for one in bindings if one.state in STAYING)


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
    left = clusters_left(move, chosen_by(bindings))
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
    return len(clusters_left(move, chosen_by(bindings))) if reachable else None


@dataclass(frozen=True, slots=True)
class StepReports:
    """What a step is judged by: the reports, and whether nothing of it may wait any longer.

    `reports` is `None` where nothing may be taken of it.
    """

    reports: AvailabilityReports | None
    interrupted: bool = False


def go_on_moving(
    move: SteppedMove, bindings: Bindings, members: Members, state: StepReports, now: datetime
) -> tuple[MovedPlacement, Bindings]:
    """Take what is available of a step; give back the rest where it must not wait any longer.

    A binding that is kept and is not there any more, or whose cluster is gone, was taken by
    somebody else: as many of the new ones count from now on.
    """
    if move.surge is None:
        return MovedPlacement(move), bindings
    began_at = move.surge.began_at
    staying = {one.target: one for one in bindings.values() if one.state in STAYING}
    kept = frozenset(
        one.target
        for one in bindings.values()
        if one.state == UNSCHEDULED and one.target in move.kept and _is_there(one, members)
    )

    def ready(cluster: ClusterName) -> bool:
        reports = state.reports
        return reports is not None and reports.has_made(staying[cluster], began_at)

    found = go_on_exchanging(move, staying.keys(), kept, ready, now, interrupted=state.interrupted)
    goes_on, step = found.move, found.step
    if goes_on is None or step is None or step.surge is not None:
        return found, bindings
    after = _returned(bindings, step.returned, goes_on.kept, rolled_out=state.reports is not None)
    ended = None if found.given_up else goes_on._replace(kept=frozenset())
    return found._replace(move=ended), after


def _is_there(binding: Binding, members: Members) -> bool:
    position = members.fleet.position.get(binding.target)
    return position is not None and not members.fleet.clusters[position].deleting


def _returned(
    bindings: Bindings,
    returned: Mapping[ClusterName, int],
    kept: frozenset[ClusterName],
    *,
    rolled_out: bool,
) -> Bindings:
    """Return bindings without those that are given back, and with those that were kept for them.

    One that is available goes as fast as the rollout lets it; where nothing is `rolled_out`, it
    would stay beside the others for as long as that lasts, so it goes as well.
    """
    found: dict[str, Binding] = {}
    for name, binding in bindings.items():
        if binding.state in STAYING and binding.target in returned:
            if rolled_out and is_available(binding):
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
    placed, wanted = chosen_by(staying), snapshot.number_of_clusters
    if min(len(goal), len(placed)) < wanted:
        few = len(goal) if len(goal) < wanted else len(placed)
        why = f"only {few} of {wanted} clusters can be chosen"
        return BegunPlacement(moved._replace(move=None, given_up=why), bindings)
    begun = begin_exchanging(
        goal, placed, demand, now, share_of(placement.strategy.max_surge, wanted)
    )
    followed = not demand.fresh
    if begun is None or begun.surge is None:
        return BegunPlacement(moved._replace(move=None, followed=followed), bindings)
    stays = {one.target: one.decision for one in staying if one.target not in begun.kept}
    comes = {name: decisions[name] for name in begun.surge.clusters if name in decisions}
    leaving = (one for one in bindings.values() if one.state == UNSCHEDULED)
    pick = adopt(snapshot, staying, leaving, stays | comes, bindings)
    changed = {one.name: one for one in (*pick.created, *pick.patched, *pick.dropped)}
    return BegunPlacement(
        moved._replace(move=begun, begun=begun.surge, followed=followed), {**bindings, **changed}
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


def events_of_steps(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield what became of the steps of a placement."""
    listed = decode_placement_status(change.after).clusters or ()
    return step_events(change, {ClusterName(one.cluster) for one in listed})


def warnings_of(effects: MergeEffects) -> Iterator[Warned]:
    """Yield the placements that a merge moves in steps."""
    return step_warnings(effects, {(PLACEMENT_GROUP, kind) for kind in PLACEMENTS})
