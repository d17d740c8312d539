"""Who asks for a schedule afresh: a rebalancer, or a person who edited `rescheduleTriggeredAt`."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.applied_placement import applied_placement, is_readable
from reconciler.dialects.karmada.api.binding import Binding, binding_of
from reconciler.dialects.karmada.api.defaults import DEFAULT_SCHEDULER
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.binding_status import BindingStatus
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.model.body import Body
from reconciler.model.fields import text
from reconciler.model.moments import add, format_moment, span


class RescheduleRequest(NamedTuple):
    """A binding as the scheduler gets it.

    Attributes:
        spec: With the trigger that counts.
        status: As the last pass left it.
        binding: Both, as the scheduler reads them.
        considered: Whether our scheduler looks at it at all.
        recorded: Whether no policy claims it, so that the placement of its binding counts.
        by_hand: Whether a person asks, by an edit of `rescheduleTriggeredAt`.
        again: Whether an earlier trigger is tried again, since scheduling failed.
    """

    spec: BindingSpec
    status: BindingStatus
    binding: Binding
    considered: bool
    recorded: bool = False
    by_hand: bool = False
    again: bool = False


def ask(draft: Draft, demand: Demand | None, now: datetime) -> RescheduleRequest:
    """Return a binding with its trigger.

    Args:
        draft: The binding as its workload and policy want it.
        demand: A rebalancer's trigger, `None` without one.
        now: Moment of the pass.

    Raises:
        UserError: Something in the binding cannot be read.
    """
    spec, status, considered = draft.spec, draft.status(), is_considered(draft)
    if demand is not None and is_reschedulable(draft):
        spec = spec._replace(reschedule_triggered_at=format_moment(demand.at))
        binding = decoded(draft, spec, status)
        afresh = asked_afresh(binding, demand.at) if demand.fresh else binding
        return RescheduleRequest(
            spec=spec, status=status, binding=afresh, considered=True, recorded=not considered
        )
    binding = decoded(draft, spec, status)
    if not considered:
        return RescheduleRequest(spec=spec, status=status, binding=binding, considered=False)
    triggered = binding.reschedule_triggered_at
    if triggered is not None and triggered > now:
        # Unlike upstream: a trigger in the future would be consumed by no scheduling before it.
        # Only a person can have written it; they ask once, now.
        spec = spec._replace(reschedule_triggered_at=format_moment(now))
        binding = binding._replace(reschedule_triggered_at=now)
    failed = bool(known_problem(status))
    return RescheduleRequest(
        spec=spec,
        status=status,
        binding=binding,
        considered=True,
        by_hand=binding.reschedule_required and not failed,
        again=binding.reschedule_required and failed,
    )


def asked_afresh(binding: Binding, at: datetime) -> Binding:
    """Return a binding with a trigger that counts, whatever its last scheduling is dated with.

    Unlike upstream: what has replicas on clusters but no date of a scheduling is scheduled afresh,
    too; upstream takes no notice of the trigger then.
    """
    last, before = binding.last_scheduled_time, add(at, span(seconds=-1))
    if last is None and not binding.clusters and (binding.replicas or not binding.is_workload):
        scheduled = None  # its first scheduling, which disregards nothing
    else:
        scheduled = before if last is None else min(last, before)
    return binding._replace(reschedule_triggered_at=at, last_scheduled_time=scheduled)


def is_considered(draft: Draft) -> bool:
    """Return whether our scheduler looks at a binding at all.

    Source: karmada@f8fdd02 pkg/scheduler/event_handler.go `resourceBindingEventFilter`.
    """
    return draft.policy is not None and _is_ours(draft)


def is_reschedulable(draft: Draft) -> bool:
    """Return whether our scheduler looks at a binding if a rebalancer asks for it.

    Unlike upstream: where no policy claims it any more, the placement of the binding counts, as the
    proposal of WorkloadRebalancer has it; upstream's event filter passes over it. Scaling and
    evictions do not have it scheduled, as upstream.
    """
    claimed = draft.policy is not None or draft.spec.placement is not None
    return claimed and _is_ours(draft)


def scheduler_of(draft: Draft) -> str:
    """Return whose scheduler a binding is for."""
    return draft.spec.scheduler_name or DEFAULT_SCHEDULER


def _is_ours(draft: Draft) -> bool:
    """Return whether a binding is for our scheduler, and not suspended."""
    return scheduler_of(draft) == DEFAULT_SCHEDULER and not draft.spec.scheduling_suspended


def known_problem(status: BindingStatus) -> str:
    """Return what the Scheduled condition complains about so far, `""` for nothing."""
    return complaint_in(status.conditions or ())


def complaint_in(conditions: Iterable[Body]) -> str:
    """Return what the Scheduled condition among some complains about, `""` for nothing."""
    for condition in conditions:
        if condition.get("type") == "Scheduled" and condition.get("status") == "False":
            return text(condition, "message")
    return ""


def decoded(draft: Draft, spec: BindingSpec, status: BindingStatus) -> Binding:
    """Return a binding as the scheduler reads it; what cannot be read of its annotation is mended.

    Unlike upstream, where such a binding is neither scheduled nor evicted again: where our
    scheduler looks at it, it has none, so it is scheduled and written anew; elsewhere the placement
    counts.
    """
    binding = binding_of(draft.metadata, spec, status, draft.placement())
    if is_readable(binding.applied):
        return binding
    placement = None if is_considered(draft) else binding.placement
    return binding._replace(applied="" if placement is None else applied_placement(placement))
