"""What is known of a binding's cluster: what it reports, or what is assumed of its silence.

Clusters report Works of a placement, or the resources themselves. What overrides make of these on a
cluster is in the binding, too.

The moment at which the present resources were rolled out stands in an annotation of the binding.
Rollouts and evictions count with what is assumed; it is not written, but told to whoever reads the
file. What a file says already, as older rules wrote it, stays there while it holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from reconciler.dialects.inventory import CopyReports
from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import AVAILABLE, BOUND, UNSCHEDULED, VERSIONS
from reconciler.dialects.kubefleet.api.snapshots import resource_key
from reconciler.dialects.kubefleet.rollout.rollout import (
    APPLIED,
    NO_OVERRIDE,
    OVERRIDDEN,
    ROLLOUT_STARTED,
    STAGES,
    SYNCED,
    SYNCHRONIZED,
    UNTRACKABLE,
    reported,
)
from reconciler.dialects.kubefleet.rollout.works import current, work_conditions, work_problems
from reconciler.dialects.kubefleet.snapshots.overrides import OverrideVersions
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import Resource
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import at, mapping, text
from reconciler.model.health import ASSUMED, Health, assume, is_judged
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import CopyReport
from reconciler.model.moments import format_moment, is_moment, parse_moment, stamp
from reconciler.model.records import dataclass, field
from reconciler.model.world import Manifest
from reconciler.rebalance.surge import STEP

FAILED = "OverriddenFailed"
SUCCEEDED = ("OverriddenSucceeded", "Successfully applied the override rules on the resources")


@dataclass(frozen=True, slots=True)
class OverriddenResources:
    """What overrides make of the resources of a binding.

    Attributes:
        lists: Which are in force, as a binding's spec lists them; empty without any.
        failure: Why one of them does not fit, `""` if all do; nothing is delivered then.
        versions: Of which they are, as a note, where runs roll out; `""` elsewhere.
    """

    lists: Body
    failure: str = ""
    versions: str = ""


NOT_OVERRIDDEN = OverriddenResources({})


class Overriding(Protocol):
    """What the overrides of one placement come to."""

    def __call__(self, binding: Binding, snapshots: Sequence[Body], /) -> OverriddenResources:
        """Return what they make of a binding's resources, given its placement's snapshots."""

    def versions(self, lists: Body, /) -> str:
        """Return of which versions those of a list are as they are now, as a note."""

    def behind(self, bindings: Iterable[Binding], snapshots: Sequence[Body], /) -> set[ObjectKey]:
        """Return those that a run would bring otherwise than bindings have them."""


class _NothingOverridden:
    """No override."""

    def __call__(self, _binding: Binding, _snapshots: Sequence[Body], /) -> OverriddenResources:
        """Return that there is none."""
        return NOT_OVERRIDDEN

    def versions(self, _lists: Body, /) -> str:
        """Return none."""
        return ""

    def behind(self, _bindings: Iterable[Binding], _snapshots: Sequence[Body], /) -> set[ObjectKey]:
        """Return none."""
        return set()


def prepared_conditions(overridden: OverriddenResources, generation: int) -> Iterator[Condition]:
    """Yield what a binding says until its cluster is asked: overridden, then synchronized.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `Reconcile`.
    """
    if overridden.failure:
        yield Condition(OVERRIDDEN, "False", FAILED, overridden.failure, generation)
        return
    words = SUCCEEDED if overridden.lists else NO_OVERRIDE
    yield Condition(OVERRIDDEN, "True", *words, generation)
    yield Condition(SYNCHRONIZED, "True", *SYNCED, generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailabilityReports:
    """Who reports what.

    Attributes:
        resources: The resources that the placement selects.
        copies: What clusters say of each object.
        works: The Works of the placement, by cluster.
        overriding: Says what overrides make of the resources.
        snapshots: The resource snapshots of the placement.
        assume_after_seconds: See `model/settings.py`; of a cluster that reports none of them.
    """

    resources: tuple[ObjectKey, ...] = ()
    copies: CopyReports = field(default_factory=CopyReports, repr=False)
    works: Mapping[str, Sequence[Body]] = field(default_factory=dict, repr=False)
    overriding: Overriding = _NothingOverridden()
    snapshots: Sequence[Body] = ()
    assume_after_seconds: int | None = None

    def overridden(self, binding: Binding) -> OverriddenResources:
        """Return what overrides make of a binding's resources."""
        return self.overriding(binding, self.snapshots)

    def problems(self, binding: Binding) -> Body:
        """Return what the Works of a binding's cluster say of single resources."""
        works = self.works.get(binding.target)
        return work_problems(binding, works) if works else {}

    def conditions(self, binding: Binding) -> tuple[Condition, ...]:
        """Return what the cluster of a binding says of its stages, nothing if it is silent.

        Its Works say it of everything that it was given; without any, what is said of single
        resources counts. Where all of that is well and a resource is silent that should tell its
        health, nothing is known of the whole yet.
        """
        works = self.works.get(binding.target)
        if works:
            return tuple(work_conditions(binding, works))
        if not self.copies:
            return ()
        copies_by_key = {key: self.copies.of(key, binding.target) for key in self.resources}
        copies = [one for one in copies_by_key.values() if one is not None]
        told = tuple(_told(copies, binding)) if copies else ()
        silent = any(one is None and is_judged(*key[:2]) for key, one in copies_by_key.items())
        return () if silent and all(one.status == "True" for one in told) else told

    def tells_availability(self, binding: Binding) -> bool:
        """Return whether the cluster of a binding says if what it was given is available.

        That it was applied long ago is no answer.
        """
        available = {one.type: one for one in self.conditions(binding)}.get(AVAILABLE)
        return available is not None and available.reason not in UNTRACKABLE

    def has_made(self, binding: Binding, began_at: datetime) -> bool:
        """Return whether a cluster reports all that a step gave it, by its copies, as available.

        Args:
            binding: Of the cluster.
            began_at: Moment of the step. A copy bears it; a Work has become available since.
        """
        told = self.conditions(binding)
        if not self.tells_availability(binding) or any(one.status != "True" for one in told):
            return False
        works = self.works.get(binding.target)
        if works:
            return all(_is_available_since(work, began_at) for work in works)
        copies = (self.copies.of(key, binding.target) for key in self.resources)
        step = format_moment(began_at)
        return all(
            at(one.body, "metadata", "annotations").get(STEP) == step
            for one in copies
            if one is not None
        )


def _is_available_since(work: Body, moment: datetime) -> bool:
    """Return whether a Work has become available at a moment or later."""
    since = text(current(work, AVAILABLE), "lastTransitionTime")
    return is_moment(since) and parse_moment(since) >= moment


def _told(copies: Iterable[CopyReport], binding: Binding) -> Iterator[Condition]:
    """Yield what reports of single resources say: none may be unapplied, none unhealthy.

    A kind without health counts as available, and what is not available yet not as failed. Of a
    kind with health a report that lacks what says it does not count as available.

    Source: kubefleet@e160c1c pkg/controllers/workapplier/availability_tracker.go
    `trackInMemberClusterObjAvailabilityByGVR`, pkg/utils/condition/reason.go.
    """
    missing = [one for one in copies if not one.applied]
    unhealthy = any(one.health is Health.UNHEALTHY or one.lacks_health for one in copies)
    for stage in reported(binding.apply_strategy):
        if stage == APPLIED and missing:
            text = missing[0].message or "The cluster reports resources that are not applied"
            yield Condition(stage, "False", "ApplyPending", text, binding.generation)
            return
        if stage == AVAILABLE and unhealthy:
            text = "The cluster reports resources that are not healthy yet"
            yield Condition(stage, "False", "ResourceNotAvailableYet", text, binding.generation)
            return
        reason = "AllWorkAreAvailable" if stage == AVAILABLE else "AllWorkHaveBeenApplied"
        text = "The cluster reports the resources"
        yield Condition(stage, "True", reason, text, binding.generation)


def works_by_cluster(works: Iterable[Manifest]) -> dict[str, list[Body]]:
    """Return Works by the cluster that reports them; those being deleted say nothing any more."""
    works_by_name: dict[str, list[Body]] = {}
    for work in works:
        if mapping(work.body, "metadata").get("deletionTimestamp") is None:
            works_by_name.setdefault(work.key.reporter, []).append(work.body)
    return works_by_name


def keys_of(resources: Iterable[Resource] | None) -> tuple[ObjectKey, ...]:
    """Return the objects behind selected resources."""
    return tuple(resource_key(resource.entry) for resource in resources or ())


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
    marks = OverrideVersions(overridden.versions).marked(marks)
    if overridden.failure:
        return _undelivered(binding, overridden, marks, at=stamp(now)), None
    reported = reports.conditions(binding)
    seconds = reports.assume_after_seconds
    assumption = assume(parse_moment(at), None if reported else seconds, now)
    conditions = [
        *prepared_conditions(overridden, binding.generation),
        *reported,
    ]
    if assumption.available:
        conditions += assumed_conditions(binding, seconds or 0)
    marked = binding._replace(
        annotations=marks,
        conditions=_conditions(binding, conditions, at=stamp(now)),
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
    assumed = assumed_in(before)
    conditions = (
        item
        for item in binding.conditions
        if not _is_assumed(item) or (item.get("type"), item.get("observedGeneration")) in assumed
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
    prepared_kinds = (ROLLOUT_STARTED, OVERRIDDEN)
    conditions = tuple(item for item in binding.conditions if item.get("type") in prepared_kinds)
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
    marks = {
        k: v for k, v in before.annotations.items() if k in (ROLLED_OUT, ROLLED_OUT_AT, VERSIONS)
    }
    return after._replace(annotations={**marks, **after.annotations})
