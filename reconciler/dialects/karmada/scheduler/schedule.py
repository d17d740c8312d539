"""Scheduling of one binding: filter, rank, select, divide, for one affinity group after another.

The first trigger that holds decides whether the binding is scheduled at all. The verdict carries
everything that explains it, formatted late. Bindings whose clusters all get the same number of
replicas share the entries of their results.

Where room is protected, the division is cut to what its clusters can hold, and the rest goes
nowhere. Divisions by room stay within it by themselves. A duplicated workload has all its replicas
on a cluster or those that it has there; a static weight gives a cluster as many as fit.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import Binding, BindingStatus
from reconciler.dialects.karmada.api.cluster import (
    Capacity,
    Members,
    Requirements,
    SharedTargets,
    TargetCluster,
)
from reconciler.dialects.karmada.api.placement import (
    DIVIDED,
    AffinityTerm,
    Placement,
    applied_placement,
    placement_changed,
)
from reconciler.dialects.karmada.scheduler.divide import (
    Division,
    DivisionStrategy,
    divide,
    strategy_of,
)
from reconciler.dialects.karmada.scheduler.plugins import (
    PROFILE,
    Failure,
    FailureKind,
    NoRoom,
    Request,
    missing,
    refused_before,
    request_of,
    scheduler_error,
    unschedulable,
)
from reconciler.dialects.karmada.scheduler.room import BindingRoom, estimate_fleet
from reconciler.dialects.karmada.scheduler.select import Ranking, rank, select_clusters
from reconciler.model.cluster import Condition
from reconciler.model.identity import ClusterName
from reconciler.model.text import enumerated
from reconciler.schedule.capacity import times, with_pod, written_amounts
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, Rejection, mask_of, positions_of, run_filters

TARGETS_LIMIT = 128  # ours: 5,000 clusters times 128 numbers of replicas take about 50 MB

_target = partial(tuple.__new__, TargetCluster)  # half of the time that its own constructor takes


def targets_of(division: Division, members: Members, feasible: Mask) -> tuple[TargetCluster, ...]:
    """Return the clusters of a division, in its order; all of them are feasible."""
    shares, names = division.shares, members.fleet.names
    replicas = division.each
    if replicas is None or not shares:
        return tuple([_target((names[position], count)) for position, count in shares])
    positions = division.clusters or [position for position, _ in shares]
    shared = remember(members.targets, replicas, SharedTargets, limit=TARGETS_LIMIT)
    if not shared.clusters and shared.first is None:
        targets = _made(positions, names, replicas)
        shared.first = positions, targets
        return targets
    if shared.first is not None:
        shared.targets = dict(zip(*shared.first, strict=True))
        shared.clusters, shared.first = mask_of(shared.first[0]), None
    wanting = Mask(feasible & ~shared.clusters)
    if wanting:
        others = positions_of(wanting)
        shared.targets |= zip(others, _made(others, names, replicas), strict=True)
        shared.clusters = Mask(shared.clusters | wanting)
    return tuple(map(shared.targets.__getitem__, positions))


def _made(
    positions: Sequence[int], names: Sequence[ClusterName], replicas: int
) -> tuple[TargetCluster, ...]:
    pairs = zip(map(names.__getitem__, positions), repeat(replicas))
    return tuple(map(_target, pairs))


class ScheduleReason(StrEnum):
    """Why a binding is scheduled, or why it is not (`deleting`, `none`)."""

    DELETING = "deleting"
    PLACEMENT_CHANGED = "placementChanged"
    REPLICAS_CHANGED = "replicasChanged"
    RESCHEDULE_TRIGGERED = "rescheduleTriggered"
    DUPLICATED_OR_NON_WORKLOAD = "duplicatedOrNonWorkload"
    TERMINATING_TARGET_CLUSTER = "terminatingTargetCluster"
    NONE = "none"


def find_trigger(binding: Binding, members: Members) -> ScheduleReason:
    """Return the first rule that makes the scheduler act on a binding that came up.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `doScheduleBinding`.
    """
    placement = binding.placement
    if binding.deleting:
        return ScheduleReason.DELETING
    if placement is None:
        return ScheduleReason.NONE
    if placement_changed(placement, binding.applied, observed_affinity=binding.observed_affinity):
        return ScheduleReason.PLACEMENT_CHANGED
    if replicas_changed(binding):
        return ScheduleReason.REPLICAS_CHANGED
    if binding.reschedule_required:
        return ScheduleReason.RESCHEDULE_TRIGGERED
    if not binding.is_workload or placement.duplicated:
        return ScheduleReason.DUPLICATED_OR_NON_WORKLOAD
    deleting = members.fleet.deleting
    if deleting and deleting & members.fleet.named(name for name, _ in binding.clusters):
        return ScheduleReason.TERMINATING_TARGET_CLUSTER
    return ScheduleReason.NONE


def replicas_changed(binding: Binding) -> bool:
    """Return whether the present result does not add up to the replicas wanted.

    Source: karmada@f8fdd02 pkg/util/binding.go `IsBindingReplicasChanged`; targets whose cluster no
    longer exists still count.
    """
    scheduling = None if binding.placement is None else binding.placement.replica_scheduling
    if scheduling is None:
        return False
    if scheduling.type == DIVIDED:
        return sum([replicas for _, replicas in binding.clusters]) != binding.replicas
    if binding.placement is not None and binding.placement.duplicated:
        return any(replicas != binding.replicas for _, replicas in binding.clusters)
    return False


class Attempt(NamedTuple):
    """One affinity group tried.

    `result` holds the clusters in upstream's order, or why there are none. The record of a stage
    that was not reached is `None`; positions and masks are those of the fleet that was asked.
    `short` says what of the replicas has no room, `""` if all have.
    """

    request: Request
    feasible: Mask
    rejections: tuple[Rejection, ...]
    result: tuple[TargetCluster, ...] | Failure
    ranking: Ranking | None = None
    selected: Sequence[int] | None = None
    division: Division | None = None
    short: str = ""

    @property
    def affinity_name(self) -> str:
        """The affinity group that was tried."""
        return self.request.affinity_name


class ScheduleVerdict(NamedTuple):
    """What becomes of a binding that came up.

    Attributes:
        trigger: Why it was scheduled, or why not.
        observed_affinity: The next schedulerObservingAffinityName.
        attempts: One for each affinity group tried, in order.
        clusters: The next spec.clusters in upstream's order, `None` when they stay.
        observed_generation: The next schedulerObservedGeneration, `None` when it stays.
        condition: The Scheduled condition, `None` when it stays.
        applied: The next applied-placement annotation, `None` when it stays.
        scheduled: Whether lastScheduledTime becomes now.
        error: What decided, if all attempts failed.
    """

    trigger: ScheduleReason
    observed_affinity: str
    attempts: tuple[Attempt, ...] = ()
    clusters: tuple[TargetCluster, ...] | None = None
    observed_generation: int | None = None
    condition: Condition | None = None
    applied: str | None = None
    scheduled: bool = False
    error: Failure | None = None

    @property
    def triggered(self) -> bool:
        """Whether the scheduler acted on the binding."""
        return self.trigger not in (ScheduleReason.DELETING, ScheduleReason.NONE)

    @property
    def problem(self) -> str:
        """Why not all is placed that is wanted, `""` if it is."""
        if self.error is not None:
            return self.error.message
        return self.attempts[-1].short if self.attempts else ""


SCHEDULED = "Scheduled"
DECIDED_ANEW = (ScheduleReason.PLACEMENT_CHANGED, ScheduleReason.RESCHEDULE_TRIGGERED)
"""What makes a binding leave where a batch has left it."""
SUCCESS = Condition(SCHEDULED, "True", "Success", "Binding has been scheduled successfully.")


def schedule(
    binding: Binding,
    members: Members,
    now: datetime,
    *,
    propagate_empty: bool = False,
    room: BindingRoom | None = None,
) -> ScheduleVerdict:
    """Decide what becomes of a binding that came up.

    Args:
        binding: As it stands in the manifest.
        members: All clusters, deleting ones included.
        now: Aware UTC, for the plugins; upstream's do not look at it.
        propagate_empty: `--enable-empty-workload-propagation`: selected clusters without a replica
            stay in the result.
        room: What is free for it, `None` where no room is protected.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `doScheduleBinding`.
    """
    trigger, placement = find_trigger(binding, members), binding.placement
    if trigger in DECIDED_ANEW:
        binding = binding._replace(between=())
    if trigger is ScheduleReason.DELETING:
        return ScheduleVerdict(trigger=trigger, observed_affinity=binding.observed_affinity)
    if placement is None:
        return _failed(
            trigger, binding, (), scheduler_error("the binding has no placement"), members
        )
    if trigger is ScheduleReason.NONE:
        return ScheduleVerdict(
            trigger=trigger,
            observed_affinity=binding.observed_affinity,
            observed_generation=_renewed(binding),
        )
    attempts = try_groups(
        binding, placement, members, now, propagate_empty=propagate_empty, room=room
    )
    if not attempts:  # an empty list of groups: upstream reports success and changes nothing
        return _succeeded(trigger, binding, (), None, members)
    last, first = attempts[-1].result, attempts[0].result
    if isinstance(last, Failure) and isinstance(first, Failure):
        return _failed(trigger, binding, attempts, first, members)
    return _succeeded(trigger, binding, attempts, placement, members)


def try_groups(
    binding: Binding,
    placement: Placement,
    members: Members,
    now: datetime,
    *,
    propagate_empty: bool = False,
    room: BindingRoom | None = None,
) -> tuple[Attempt, ...]:
    """Try one affinity group after the other until one will do.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go
    `scheduleResourceBindingWithClusterAffinities`.
    """
    attempts: list[Attempt] = []
    for term in _terms(binding, placement):
        request = request_of(binding, placement, term, members, room)
        attempt = attempt_group(request, members, now, propagate_empty=propagate_empty)
        attempts.append(attempt)
        if not isinstance(attempt.result, Failure):
            break
    return tuple(attempts)


def _terms(binding: Binding, placement: Placement) -> Sequence[AffinityTerm | None]:
    """The groups to try: from the one observed last, or from the first on a reschedule."""
    terms = placement.cluster_affinities
    if terms is None:
        return (None,)
    if binding.reschedule_required:
        return terms
    names = [term.affinity_name for term in terms]
    observed = binding.observed_affinity
    return terms[names.index(observed) :] if observed in names else terms


def feasible_now(binding: Binding, placement: Placement, members: Members, now: datetime) -> Mask:
    """Return the clusters that pass the filters for the affinity group that comes first now."""
    term = next(iter(_terms(binding, placement)), None)
    request = request_of(binding, placement, term, members)
    candidates = Mask(members.fleet.all & ~members.fleet.deleting)
    return run_filters(PROFILE.filters, request, members, candidates, now)[0]


def attempt_group(
    request: Request, members: Members, now: datetime, *, propagate_empty: bool
) -> Attempt:
    """Try to schedule a binding with one affinity group; keep the record of every stage.

    Source: karmada@f8fdd02 pkg/scheduler/core/generic_scheduler.go `Schedule`.
    """
    fleet, binding = members.fleet, request.binding
    candidates = Mask(fleet.all & ~fleet.deleting)
    feasible, rejections = run_filters(PROFILE.filters, request, members, candidates, now)
    attempt = partial(Attempt, request=request, feasible=feasible, rejections=rejections)
    if not feasible:
        members_known = members.known_to(map(itemgetter(0), binding.clusters))
        message = fit_error(members_known.bit_count(), rejections)
        full = without_room(rejections)  # then what is there stays
        kind = FailureKind.UNSCHEDULABLE if full else FailureKind.NO_CLUSTER_FIT
        return attempt(result=Failure(kind, message))
    capacity = _capacity(request, members)
    ranking = rank(request, members, feasible, capacity, now)
    selected = select_clusters(request.placement, binding.replicas, ranking, members)
    if isinstance(selected, Failure):
        return attempt(ranking=ranking, result=selected.within("failed to select clusters"))
    division = divide(request, members, ranking, selected, now, propagate_empty=propagate_empty)
    attempt = partial(attempt, ranking=ranking, selected=selected)
    if isinstance(division, Failure):
        failure = division.within("failed to assign replicas")
        if request.room is not None:
            failure = told_with_missing(failure, request, ranking, selected)
        return attempt(result=failure)
    short = ""
    if request.room is not None:
        division, short = cut_to_room(division, request, request.room, members)
        short = short or turned_away(request, rejections, members)
        if short and loses(division, request.held):
            return attempt(division=division, result=unschedulable(short))
    result = targets_of(division, members, feasible)
    return attempt(division=division, result=result, short=short)


def _capacity(request: Request, members: Members) -> Capacity:
    """Return how many replicas each cluster can take."""
    if request.room is not None and depends_on_room(request.placement):
        return request.room.capacity(request.binding)
    binding = request.binding
    return estimate_fleet(
        members,
        replicas=binding.replicas,
        requirements=binding.requirements,
        components=binding.components,
    )


def fit_error(clusters: int, rejections: Iterable[Rejection]) -> str:
    """Return upstream's text for a binding that no cluster fits.

    Source: karmada@f8fdd02 pkg/scheduler/framework/types.go `FitError`: reasons with their counts,
    sorted as strings, so 10 comes before 2.

    >>> fit_error(3, [])
    '0/3 clusters are available: no cluster exists.'
    """
    counts: dict[str, int] = {}
    for rejection in rejections:
        reason = str(rejection.reason)
        counts[reason] = counts.get(reason, 0) + rejection.clusters.bit_count()
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{clusters} clusters are available: {reasons or 'no cluster exists'}."


def _succeeded(
    trigger: ScheduleReason,
    binding: Binding,
    attempts: tuple[Attempt, ...],
    placement: Placement | None,
    members: Members,
) -> ScheduleVerdict:
    """The last attempt counts. Without any, only the status moves.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `patchScheduleResultForResourceBinding`.
    """
    result = attempts[-1].result if attempts else None
    grouped = placement is not None and placement.cluster_affinities is not None
    return ScheduleVerdict(
        trigger=trigger,
        attempts=attempts,
        clusters=None if isinstance(result, Failure) else result,
        observed_affinity=attempts[-1].affinity_name if grouped else binding.observed_affinity,
        observed_generation=binding.generation,
        condition=_as_placed(attempts),
        applied=None if placement is None else _changed(binding, placement, members),
        scheduled=True,
    )


def _as_placed(attempts: Sequence[Attempt]) -> Condition:
    """Return the condition of a binding that is placed; ours is that not all of it has room."""
    short = attempts[-1].short if attempts else ""
    if not short:
        return SUCCESS
    return Condition(SCHEDULED, "False", FailureKind.UNSCHEDULABLE, short)


def _failed(
    trigger: ScheduleReason,
    binding: Binding,
    attempts: tuple[Attempt, ...],
    failure: Failure,
    members: Members,
) -> ScheduleVerdict:
    """When no cluster fits the result is cleared; all other failures keep it.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `getConditionByError` and the error handling
    of `scheduleResourceBindingWithClusterAffinity`.
    """
    unfit = failure.kind is FailureKind.NO_CLUSTER_FIT and binding.placement is not None
    return ScheduleVerdict(
        trigger=trigger,
        attempts=attempts,
        clusters=() if unfit else None,
        observed_affinity=binding.observed_affinity,
        condition=Condition(SCHEDULED, "False", failure.kind, failure.message),
        applied=_changed(binding, binding.placement, members)
        if unfit and binding.placement
        else None,
        error=failure,
    )


def refused(
    verdict: ScheduleVerdict,
    binding: Binding,
    message: str,
    members: Members,
    *,
    kind: FailureKind = FailureKind.QUOTA_EXCEEDED,
) -> ScheduleVerdict:
    """Return a verdict whose result is not taken, since a quota, or a cluster, has no room for it.

    What it decided is nowhere, so the binding keeps its clusters and is scheduled again by the next
    round that looks at it. Where no cluster fits that is told, as upstream tells the first error.

    Source: karmada@f8fdd02 pkg/scheduler/helper.go `getConditionByError`, and the errors of
    patching in pkg/scheduler/scheduler.go `scheduleResourceBindingWithClusterAffinity`.
    """
    if verdict.error is not None:
        return verdict._replace(clusters=None, applied=None)
    failure = Failure(kind, message)
    last = [one._replace(result=failure) for one in verdict.attempts[-1:]]
    attempts = (*verdict.attempts[:-1], *last)
    return _failed(verdict.trigger, binding, attempts, failure, members)


def complaining(verdict: ScheduleVerdict, message: str) -> ScheduleVerdict:
    """Return a verdict on a binding that keeps what it asked for before, which is told.

    Unlike upstream: there an event of the workload tells of it, and nothing of the binding.

    Source: karmada@f8fdd02 pkg/detector/detector.go `ApplyPolicy`, where a webhook refuses the
    update of the binding.
    """
    failure = Failure(FailureKind.QUOTA_EXCEEDED, message)
    condition = Condition(SCHEDULED, "False", failure.kind, message)
    return verdict._replace(condition=condition, error=verdict.error or failure)


def with_room(verdict: ScheduleVerdict, status: BindingStatus) -> ScheduleVerdict:
    """Return a verdict that takes a refusal back where nothing has the binding scheduled any more.

    Unlike upstream: there the condition stays, whatever room there is by now.
    """
    over = verdict.trigger is ScheduleReason.NONE and verdict.condition is None
    return verdict._replace(condition=SUCCESS) if over and refused_before(status) else verdict


def _changed(binding: Binding, placement: Placement, members: Members) -> str | None:
    text = remember(members.applied, placement, lambda: applied_placement(placement))
    return None if text == binding.applied else text


def _renewed(binding: Binding) -> int | None:
    return None if binding.generation == binding.observed_generation else binding.generation


NAMED = 3
CUT = frozenset({DivisionStrategy.DUPLICATED, DivisionStrategy.STATIC_WEIGHT})


def depends_on_room(placement: Placement) -> bool:
    """Return whether room decides among clusters, and not only how much each of them gets."""
    overflows = any(term.overflow for term in placement.cluster_affinities or ())
    return overflows or bool(placement.spread_constraints) or strategy_of(placement) not in CUT


def cut_to_room(
    division: Division, request: Request, room: BindingRoom, members: Members
) -> tuple[Division, str]:
    """Return a division as far as its clusters can hold it, and what they lack for the rest."""
    if division.strategy not in CUT or not request.binding.replicas:
        return division, ""
    if division.strategy is DivisionStrategy.DUPLICATED and not request.held:
        return division, ""  # the filter has seen to that
    requirements, limited = request.binding.requirements, room.fleet.limited
    held = dict(reversed(request.held))
    duplicated = division.strategy is DivisionStrategy.DUPLICATED
    lacking: list[str] = []
    shares: list[tuple[int, int]] = []
    for position, count in division.shares:
        has = held.get(position, 0)
        fits = count <= has or not limited >> position & 1
        if fits or (duplicated and not has):
            shares.append((position, count))
            continue
        most = has + room.more_at(position, requirements)
        if count > most:
            lack = missing(room.lacking(position, requirements, count - has))
            lacking.append(f"{members.fleet.names[position]} lacks {lack}")
            fitting = has if duplicated else most
            shares += [(position, fitting)] if fitting else []
        else:
            shares.append((position, count))
    if not lacking:
        return division, ""
    return division._replace(shares=shares, each=None, clusters=()), short_of(lacking)


def short_of(lacking: Iterable[str]) -> str:
    """Return that not all replicas have room, and which clusters lack what."""
    return f"not all replicas have room: {enumerated(lacking, NAMED)}"


def turned_away(request: Request, rejections: Iterable[Rejection], members: Members) -> str:
    """Return that clusters have no room which were meant, `""` if all that were meant have some.

    Where spread constraints choose among clusters, others may do.
    """
    if request.placement.spread_constraints:
        return ""
    names = members.fleet.names
    lacking = [
        f"{names[position]} lacks {one.reason.missing}"
        for one in rejections
        if isinstance(one.reason, NoRoom)
        for position in positions_of(one.clusters)
    ]
    return short_of(lacking) if lacking else ""


def loses(division: Division, held: Sequence[tuple[int, int]]) -> bool:
    """Return whether there would be fewer replicas than there are."""
    return sum(count for _, count in division.shares) < sum(count for _, count in held)


def goal_beyond_room(goal: Iterable[TargetCluster], binding: Binding, room: BindingRoom) -> str:
    """Return which clusters have no room for a step to a goal, `""` if all have."""
    requirements, members = binding.requirements, room.fleet.members
    limited = room.fleet.limited
    lacking = []
    for name, count in goal:
        position, added = members.fleet.position.get(name), count - room.stood.get(name, 0)
        if position is None or added <= 0 or not limited >> position & 1:
            continue
        if added > room.more_at(position, requirements):
            lacking.append(f"{name} lacks {missing(room.lacking(position, requirements, added))}")
    return short_of(lacking) if lacking else ""


def told_with_missing(
    failure: Failure, request: Request, ranking: Ranking, selected: Sequence[int]
) -> Failure:
    """Return a failure for lack of room with what is missing."""
    if failure.kind is not FailureKind.UNSCHEDULABLE:
        return failure
    binding = request.binding
    there = sum(max(0, ranking.available(position)) for position in selected)
    count = binding.replicas - there
    if count <= 0:
        return failure
    return unschedulable(f"{failure.message} Missing: {_of_replicas(count, binding.requirements)}.")


def _of_replicas(count: int, requirements: Requirements | None) -> str:
    """Return what so many replicas take."""
    return written_amounts(times(with_pod(dict(requirements or ())), count))


def without_room(rejections: Iterable[Rejection]) -> bool:
    """Return whether a cluster was turned away for lack of room."""
    return any(isinstance(one.reason, NoRoom) for one in rejections)
