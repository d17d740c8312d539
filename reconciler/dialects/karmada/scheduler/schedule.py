"""Scheduling of one binding: filter, rank, select, divide, for one affinity group after another."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter

from reconciler.dialects.karmada.api.applied_placement import applied_placement
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.clusters import Capacity, Members
from reconciler.dialects.karmada.api.placement import AffinityTerm, Placement
from reconciler.dialects.karmada.api.work.binding_status import BindingStatus
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.dialects.karmada.scheduler.divide import divide
from reconciler.dialects.karmada.scheduler.estimate import estimate_fleet
from reconciler.dialects.karmada.scheduler.failure import (
    Failure,
    FailureKind,
    refused_before,
    scheduler_error,
    unschedulable,
)
from reconciler.dialects.karmada.scheduler.profile import PROFILE
from reconciler.dialects.karmada.scheduler.rank import rank
from reconciler.dialects.karmada.scheduler.request import Request, request_of
from reconciler.dialects.karmada.scheduler.schedule_result import Attempt, ScheduleVerdict
from reconciler.dialects.karmada.scheduler.select import select_clusters
from reconciler.dialects.karmada.scheduler.targets import targets_of
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason, find_trigger
from reconciler.dialects.karmada.within_room import (
    cut_to_room,
    depends_on_room,
    loses,
    told_with_missing,
    turned_away,
    without_room,
)
from reconciler.model.conditions import Condition
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, Rejection, run_filters

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
        known = members.known_to(map(itemgetter(0), binding.clusters))
        message = fit_error(known.bit_count(), rejections)
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
