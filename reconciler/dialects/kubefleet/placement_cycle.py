"""One placement in a pass: snapshots, then scheduler and rollout until nothing moves."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.cluster_steps import NO_MOVE, UNMOVED, MovedPlacement, MoveRequest
from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.member import Members
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    CRP_GENERATION,
    SCHEDULED,
    SCHEDULED_CONDITION,
    UnexpectedBehavior,
    as_count,
)
from reconciler.dialects.kubefleet.api.placement import PICK_N, Placement, latest_master
from reconciler.dialects.kubefleet.api.snapshots import (
    Owner,
    SnapshotRevisions,
    encode_policy_status,
)
from reconciler.dialects.kubefleet.make_before_break import (
    BegunPlacement,
    StepReports,
    begin_moving,
    chosen_by,
    go_on_moving,
    is_reachable,
    restated,
)
from reconciler.dialects.kubefleet.rollout.availability import (
    AvailabilityReports,
    assumed_in,
    keep_marks,
    observe,
    without_assumed,
)
from reconciler.dialects.kubefleet.rollout.rollout import NONE_FULL, Rollout, roll_out
from reconciler.dialects.kubefleet.scheduler.picks import classify
from reconciler.dialects.kubefleet.scheduler.plugins import PlacementRoom
from reconciler.dialects.kubefleet.scheduler.schedule import Scheduled, reschedule, schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import (
    Snapshot,
    decode_snapshot,
    keep_wording,
    snapshot_policy,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import snapshot_resources
from reconciler.dialects.kubefleet.snapshots.selection import SelectedResources
from reconciler.dialects.kubefleet.updaterun.cycle import (
    RunStep,
    RunTargets,
    begin_runs,
    go_on,
    rounds_of,
)
from reconciler.dialects.kubefleet.updaterun.runs import NO_RUNS, UpdateRuns, Waits
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, replace
from reconciler.model.text import LONGEST_LABEL

SPARE_ROUNDS = 8  # ours: rounds beyond one a binding, for strategy, refresh and removal


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What earlier passes left of one placement.

    `renew` asks for scheduling though nothing else does: a person edited a decision. `implied` says
    that nobody wrote the policy, so that a snapshot without one stands, too.
    """

    policies: Sequence[Body] = ()
    resources: Sequence[Body] = ()
    bindings: Mapping[str, Binding]
    renew: bool = False
    implied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergedPlacement:
    """Where a placement converges.

    Attributes:
        policies: Policy snapshots by name, the present one with its status.
        resources: Resource snapshots by name.
        bindings: Bindings by name.
        snapshot: The present policy snapshot with its new status.
        until: When time alone could change this, `None` if never.
        result: What the scheduler did, `None` if there was no reason to run it.
        runs: How far the runs are that roll it out.
        moved: What became of a move that is made before it breaks.
    """

    policies: Mapping[str, Body]
    resources: Mapping[str, Body]
    bindings: Mapping[str, Binding]
    snapshot: Snapshot
    until: datetime | None
    result: Scheduled | None
    runs: tuple[RunStep, ...] = ()
    moved: MovedPlacement = UNMOVED


class RolledOut(NamedTuple):
    """Where a rollout converges.

    Attributes:
        bindings: By name, with what is assumed of their clusters.
        until: When time alone makes ready what the rollout waits for, `None` if never.
        assumed_at: When more will be assumed, `None` if never.
        waits: Whether more would move as soon as more clusters are ready.
        runs: How far the runs of the placement are.
    """

    bindings: Mapping[str, Binding]
    until: datetime | None
    assumed_at: datetime | None
    waits: bool
    runs: tuple[RunStep, ...]


def converge(
    placement: Placement,
    owner: Owner,
    selection: SelectedResources,
    present: Present,
    members: Members,
    now: datetime,
    reports: AvailabilityReports,
    *,
    runs: UpdateRuns = NO_RUNS,
    moving: MoveRequest = NO_MOVE,
    room: PlacementRoom | None = None,
) -> ConvergedPlacement:
    """Bring one placement to where upstream's controllers would bring it by now.

    Where a rebalancer demands it, the scheduler chooses as if nothing were placed. `room` is what
    is free for it, `None` where no room is protected.

    Raises:
        UnexpectedBehavior: One of them cannot go on; nothing of the placement is changed then.
    """
    _check_name(owner.name)
    revisions, selected = _snapshots(placement, owner, selection, present)
    body = revisions.snapshots[revisions.latest]
    reports = replace(reports, snapshots=tuple(selected.snapshots.values()))
    snapshot, found = decode_snapshot(body), present.bindings
    stepped = _step(snapshot, present, members, now, reports, moving)
    result = None
    if moving.is_at_once:
        result = reschedule(snapshot, stepped.bindings.values(), members, now, room)
    elif present.renew or must_schedule(snapshot, stepped.bindings.values(), members):
        result = schedule(snapshot, stepped.bindings.values(), members, now, room)
    snapshot, bindings = _take(snapshot, stepped.bindings, result)
    moved = stepped.moved
    demand = moving.stepped
    if demand is not None:
        moved, bindings = begin_moving(
            snapshot, bindings, members, now, demand, moved, placement, room
        )
    if moved.begun is not None or (result is None and bindings is not found):
        status = restated(snapshot, bindings, now)
        snapshot = snapshot if status is None else replace(snapshot, status=status)
    policies = {
        **revisions.snapshots,
        revisions.latest: _with_status(body, encode_policy_status(snapshot.status)),
    }
    targets = RunTargets(
        placement=placement,
        policies=tuple(policies.values()),
        resources=selected,
        clusters={view.cluster.name: view.cluster.labels for view in members.views}
        if runs.runs
        else {},
        reports=reports,
        now=now,
    )
    latest = latest_master(selected.snapshots.values(), placement.name)
    full = NONE_FULL if room is None or latest is None else room.full(bindings, latest, members)
    kept = frozenset() if moved.move is None else moved.move.kept
    rolled = _roll(bindings, targets, begin_runs(runs, now), full, kept)
    bindings, until = _written(rolled, present.bindings)
    return ConvergedPlacement(
        policies=policies,
        resources=selected.snapshots,
        bindings=bindings,
        snapshot=snapshot,
        until=earliest(until, None if moved.step is None else moved.step.until),
        result=result,
        runs=rolled.runs,
        moved=moved,
    )


def _step(
    snapshot: Snapshot,
    present: Present,
    members: Members,
    now: datetime,
    reports: AvailabilityReports,
    moving: MoveRequest,
) -> BegunPlacement:
    """Go on with a move, whose goal counts no more if anything else is to schedule it now."""
    move, bindings = moving.move, present.bindings
    if move is None:
        return BegunPlacement(UNMOVED, bindings)
    is_over = (
        moving.is_ended
        or present.renew
        or must_schedule(snapshot, bindings.values(), members)
        or not is_reachable(move, snapshot, bindings.values(), members, now)
    )
    state = StepReports(reports, interrupted=is_over)
    moved, bindings = go_on_moving(move, bindings, members, state, now)
    if is_over or not moved.left(chosen_by(bindings.values())):
        moved = moved._replace(move=None, reached=moved.move is not None and not is_over)
    return BegunPlacement(moved, bindings)


def _snapshots(
    placement: Placement, owner: Owner, selection: SelectedResources, present: Present
) -> tuple[SnapshotRevisions, SnapshotRevisions]:
    """Return the policy snapshots and the resource snapshots as a placement wants them.

    Raises:
        UnexpectedBehavior: Some of them contradict each other.
    """
    policies = snapshot_policy(
        owner, placement.policy, present.policies, placement.history, implied=present.implied
    )
    resources = snapshot_resources(
        owner,
        selection.resources,
        present.resources,
        limit=placement.history,
        envelopes=selection.envelopes,
    )
    for error in (policies.error, resources.error):
        if error is not None:
            raise error
    return policies, resources


def _check_name(name: str) -> None:
    """Refuse a name that no label can hold; of a ResourcePlacement no admission has asked.

    Raises:
        UnexpectedBehavior: It is too long.
    """
    if len(name) > LONGEST_LABEL:
        raise UnexpectedBehavior(
            f"the name has {len(name)} characters, it must have at most {LONGEST_LABEL}",
            field="/metadata/name",
        )


def _with_status(body: Body, status: Body) -> Body:
    return {**body, "status": status} if status else body


def _take(
    snapshot: Snapshot, bindings: Mapping[str, Binding], result: Scheduled | None
) -> tuple[Snapshot, Mapping[str, Binding]]:
    """Return snapshot and bindings after scheduling; without it only the generation is noted.

    Raises:
        UnexpectedBehavior: The scheduler could not go on.
    """
    if result is None:
        generation = as_count(snapshot.annotations.get(CRP_GENERATION), CRP_GENERATION)
        status = snapshot.status._replace(observed_generation=generation)
        return replace(snapshot, status=status), bindings
    if result.error is not None:
        raise result.error
    bindings_after = {
        name: keep_marks(bindings.get(name), item) for name, item in result.bindings.items()
    }
    status = snapshot.status if result.status is None else result.status
    return replace(snapshot, status=keep_wording(snapshot.status, status)), bindings_after


def must_schedule(snapshot: Snapshot, bindings: Iterable[Binding], members: Members) -> bool:
    """Return whether a pass runs the scheduler for a placement.

    PickAll and PickFixed always do, which changes nothing where nothing changed. PickN does if its
    policy was never scheduled or is not fulfilled, if it has more or fewer clusters than wanted, or
    if a cluster is gone or leaving: a satisfied PickN does not move for resources, labels or better
    scores.

    Source: ours for levels instead of events; the events are those of kubefleet@e160c1c
    pkg/scheduler/watchers.
    """
    if snapshot.policy.placement_type != PICK_N:
        return True
    conditions = snapshot.status.conditions or ()
    condition = next((c for c in conditions if c.get("type") == SCHEDULED_CONDITION), None)
    if condition is None or condition.get("status") != "True":
        return True
    groups = classify(bindings, snapshot.name, members)
    if groups.dangling or groups.obsolete:
        return True
    return groups.present != snapshot.number_of_clusters


def _roll(
    bindings: Mapping[str, Binding],
    targets: RunTargets,
    runs: tuple[RunStep, ...],
    full: Mapping[str, str],
    kept: frozenset[ClusterName],
) -> RolledOut:
    """Run rounds of the rollout until one changes nothing; a deleted binding is gone at once.

    Raises:
        UnexpectedBehavior: Two bindings of one cluster contradict each other.
    """
    until, assumed_at, waits = None, None, False
    each = 2 if runs else 1  # a run sees in another round what it began in one
    for _ in range(each * len(bindings) + SPARE_ROUNDS + rounds_of(runs)):
        observed = {n: observe(item, targets.now, targets.reports) for n, item in bindings.items()}
        before = {name: item for name, (item, _) in observed.items()}
        result = _roll_once(before, targets, full, kept)
        until, waits = result.until, result.waits
        assumed_at = earliest(*(at for _, at in observed.values()))
        after = {name: item for name, item in result.bindings.items() if name not in result.deleted}
        earlier = [one.made for one in runs]
        runs, moved = go_on(runs, after, targets)
        if moved == before == bindings and earlier == [one.made for one in runs]:
            break
        bindings = moved
    until = earliest(until, *(one.until for one in runs))
    waits = waits or any(one.waits is Waits.CLUSTERS for one in runs)
    return RolledOut(bindings, until, assumed_at, waits, runs)


def _roll_once(
    bindings: Mapping[str, Binding],
    targets: RunTargets,
    full: Mapping[str, str],
    kept: frozenset[ClusterName],
) -> Rollout:
    """Run one round of the rollout that the placement's own strategy does."""
    placement = targets.placement
    if placement is None:
        return Rollout(bindings=bindings)
    latest = latest_master(targets.resources.snapshots.values(), placement.name)
    result = roll_out(
        placement.strategy, placement.wanted, bindings.values(), latest, targets.now, full, kept
    )
    if result.error is not None:
        raise result.error
    return result


def _written(
    rolled: RolledOut, before: Mapping[str, Binding]
) -> tuple[Mapping[str, Binding], datetime | None]:
    """Return bindings as they are written, and when time alone could change them.

    What is assumed next matters where the rollout waits for it, or where a file speaks of it.
    """
    bindings = {n: without_assumed(one, before.get(n)) for n, one in rolled.bindings.items()}
    waits = rolled.waits or any(map(assumed_in, before.values()))
    return bindings, earliest(rolled.until, rolled.assumed_at if waits else None)


def selected_targets(bindings: Iterable[Binding]) -> tuple[str, ...]:
    """Return the clusters of bindings that are not leaving, ascending."""
    staying = (SCHEDULED, BOUND)
    return tuple(sorted({str(item.target) for item in bindings if item.state in staying}))
