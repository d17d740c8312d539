"""Who asks for a schedule afresh: a rebalancer, or a person who edited `rescheduleTriggeredAt`."""

from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.applied_placement import applied_placement, is_readable
from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.moments import add, format_moment, span
from reconciler.model.world import Body

DEFAULT_SCHEDULER = "default-scheduler"
TRIGGERED_AT = "rescheduleTriggeredAt"


@dataclass(slots=True, kw_only=True)
class RescheduleRequest:
    """A binding as the scheduler gets it.

    Attributes:
        spec: With the trigger that counts.
        binding: The same, decoded.
        considered: Whether our scheduler looks at it at all.
        by_hand: Whether a person asks, by an edit of `rescheduleTriggeredAt`.
        again: Whether an earlier trigger is tried again, since scheduling failed.
    """

    spec: dict[str, object]
    binding: Binding
    considered: bool
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
    spec, considered = dict(draft.spec), is_considered(draft)
    if demand is not None and considered:
        spec[TRIGGERED_AT] = format_moment(demand.at)
        binding = _decoded(draft, spec)
        afresh = asked_afresh(binding, demand.at) if demand.fresh else binding
        return RescheduleRequest(spec=spec, binding=afresh, considered=True)
    binding = _decoded(draft, spec)
    if not considered:
        return RescheduleRequest(spec=spec, binding=binding, considered=False)
    triggered = binding.reschedule_triggered_at
    if triggered is not None and triggered > now:
        # Unlike upstream: a trigger in the future would be consumed by no scheduling before it.
        # Only a person can have written it; they ask once, now.
        spec[TRIGGERED_AT] = format_moment(now)
        binding = replace(binding, reschedule_triggered_at=now)
    failed = bool(known_problem(draft.status))
    return RescheduleRequest(
        spec=spec,
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
    triggered = replace(binding, reschedule_triggered_at=at)
    last, before = binding.last_scheduled_time, add(at, span(seconds=-1))
    if last is None and not binding.clusters and (binding.replicas or not binding.is_workload):
        return triggered  # its first scheduling, which disregards nothing
    return replace(triggered, last_scheduled_time=before if last is None else min(last, before))


def is_considered(draft: Draft) -> bool:
    """Return whether our scheduler looks at a binding at all.

    Source: karmada@f8fdd02 pkg/scheduler/event_handler.go `resourceBindingEventFilter`.
    """
    if draft.policy is None:
        return False
    if (text(draft.spec, "schedulerName") or DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
        return False
    return mapping(draft.spec, "suspension").get("scheduling") is not True


def known_problem(status: Body) -> str:
    """Return what the Scheduled condition complains about so far, `""` for nothing."""
    for condition in bodies(status, "conditions"):
        if condition.get("type") == "Scheduled" and condition.get("status") == "False":
            return text(condition, "message")
    return ""


def _decoded(draft: Draft, spec: Body) -> Binding:
    """Decode a binding; an annotation of the applied placement that cannot be read is mended.

    Unlike upstream, where such a binding is neither scheduled nor evicted again: where our
    scheduler looks at it, it has none, so it is scheduled and written anew; elsewhere the placement
    counts.
    """
    binding = decode_binding({"metadata": draft.metadata, "spec": spec, "status": draft.status})
    if is_readable(binding.applied):
        return binding
    placement = None if is_considered(draft) else binding.placement
    return replace(binding, applied="" if placement is None else applied_placement(placement))
