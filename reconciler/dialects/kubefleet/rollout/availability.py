"""What is known of a binding's cluster: what it reports, or what is assumed of its silence.

The moment at which the present resources were rolled out stands in an annotation of the binding.
Rollouts and evictions count with what is assumed; it is not written, but told to whoever reads the
file. What a file says already, as older rules wrote it, stays there while it holds.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import BOUND, UNSCHEDULED
from reconciler.dialects.kubefleet.rollout.availability_reports import AvailabilityReports
from reconciler.dialects.kubefleet.rollout.overridden import (
    OverriddenResources,
    prepared_conditions,
)
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.dialects.kubefleet.view.status_conditions import (
    OVERRIDDEN,
    STAGES,
    reported,
)
from reconciler.model.availability import ASSUMED, assume
from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.moments import format_moment, is_moment, parse_moment, stamp

ROLLED_OUT_AT = "reconciler.dev/rolled-out-at"
ROLLED_OUT = "reconciler.dev/rolled-out"


def observe(
    binding: Binding, now: datetime, reports: AvailabilityReports
) -> tuple[Binding, datetime | None]:
    """Return the binding with what is known of its cluster, and when that would change.

    Args:
        binding: Bound or leaving; others have no resources in their cluster.
        now: Aware UTC.
        reports: What clusters report, and how long they may be silent. That counts from the moment
            at which the present resource snapshot was rolled out; a new decision alone does not
            start it anew.
    """
    if binding.state not in (BOUND, UNSCHEDULED) or not binding.resource_snapshot:
        return binding, None
    marks = binding.annotations
    at = marks.get(ROLLED_OUT_AT, "")
    if marks.get(ROLLED_OUT) != binding.resource_snapshot or not is_moment(at):
        at = format_moment(now)
        marks = {**marks, ROLLED_OUT: binding.resource_snapshot, ROLLED_OUT_AT: at}
    overridden = reports.overridden(binding)
    binding = binding._replace(overrides=overridden.lists)
    if overridden.failure:
        return _undelivered(binding, overridden, marks, at=stamp(now)), None
    told = reports.conditions(binding)
    seconds = reports.silence.after_seconds
    assumption = assume(parse_moment(at), None if told else seconds, now)
    known = [
        *prepared_conditions(overridden, binding.generation),
        *told,
    ]
    if assumption.available:
        known += assumed_conditions(binding, seconds or 0)
    marked = binding._replace(
        annotations=marks,
        conditions=_conditions(binding, known, at=stamp(now)),
        problems=reports.problems(binding),
    )
    return marked, assumption.until


def assumed_conditions(binding: Binding, seconds: int) -> list[Condition]:
    """Return what is assumed of a binding's cluster so many seconds after the rollout."""
    text = f"No report, assumed {seconds} s after the rollout"
    return [
        Condition(kind, "True", f"{kind}{ASSUMED}", text, binding.generation)
        for kind in reported(binding.apply_strategy)
    ]


def without_assumed(binding: Binding, before: Binding | None) -> Binding:
    """Return a binding as it is written: what is assumed stays only where its file has it.

    Args:
        binding: With what is assumed.
        before: As its file has it, `None` without one.
    """
    kept = assumed_in(before)
    conditions = (
        item
        for item in binding.conditions
        if not _is_assumed(item) or (item.get("type"), item.get("observedGeneration")) in kept
    )
    return binding._replace(conditions=tuple(conditions))


def assumed_in(binding: Binding | None) -> frozenset[tuple[object, object]]:
    """Return which conditions of a binding are assumed: their types and generations."""
    return frozenset(
        (item.get("type"), item.get("observedGeneration"))
        for item in (() if binding is None else binding.conditions)
        if _is_assumed(item)
    )


def _is_assumed(condition: Body) -> bool:
    return condition.get("reason") == f"{condition.get('type')}{ASSUMED}"


def _undelivered(
    binding: Binding, overridden: OverriddenResources, marks: Mapping[str, str], *, at: str
) -> Binding:
    """Return a binding whose cluster gets nothing new: nothing is known or assumed of it.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `Reconcile`, which takes
    all conditions away but that of the rollout.
    """
    kept = (ROLLOUT_STARTED, OVERRIDDEN)
    conditions = tuple(item for item in binding.conditions if item.get("type") in kept)
    known = prepared_conditions(overridden, binding.generation)
    return binding._replace(
        annotations=marks,
        conditions=_conditions(binding._replace(conditions=conditions), known, at=at),
        problems={},
    )


def _conditions(binding: Binding, known: Iterable[Condition], *, at: str) -> tuple[Body, ...]:
    """Return the conditions of a binding: its rollout, what is known now, what was known before.

    A condition of the present generation that cannot be known yet was written by a person.
    """
    fresh = {condition.type: condition for condition in known}
    conditions = [
        item
        for item in binding.conditions
        if item.get("type") in (ROLLOUT_STARTED, *fresh)
        or item.get("observedGeneration") != binding.generation
    ]
    for condition in fresh.values():
        conditions = set_condition(conditions, condition, at=at)
    return tuple(sorted(conditions, key=lambda item: STAGES.index(str(item["type"]))))


def keep_marks(before: Binding | None, after: Binding) -> Binding:
    """Return a binding with the marks that it had: the scheduler forgets all annotations.

    Source: ours; kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `markUnscheduledForAndUpdate` replaces the whole map.
    """
    if before is None:
        return after
    marks = {k: v for k, v in before.annotations.items() if k in (ROLLED_OUT, ROLLED_OUT_AT)}
    return after._replace(annotations={**marks, **after.annotations})
