"""What member clusters report of one placement: in Works of it, or of the resources themselves."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import AVAILABLE
from reconciler.dialects.kubefleet.api.resource_snapshot import resource_key
from reconciler.dialects.kubefleet.rollout.overridden import (
    OverriddenResources,
    Overriding,
    nothing_overridden,
)
from reconciler.dialects.kubefleet.rollout.work_conditions import work_conditions
from reconciler.dialects.kubefleet.rollout.work_problems import work_problems
from reconciler.dialects.kubefleet.snapshots.resource_chunks import Resource
from reconciler.dialects.kubefleet.view.status_conditions import APPLIED, reported
from reconciler.model.availability import NEVER, Silence
from reconciler.model.body import Body
from reconciler.model.conditions import Condition
from reconciler.model.copy_report import CopyReport
from reconciler.model.fields import mapping
from reconciler.model.health import Health, is_judged
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailabilityReports:
    """Who reports what.

    Attributes:
        resources: The resources that the placement selects.
        copies: What clusters say of each object.
        works: The Works of the placement, by cluster.
        overriding: Says what overrides make of the resources.
        snapshots: The resource snapshots of the placement.
        silence: How that of a cluster is taken which reports none of them.
    """

    resources: tuple[ObjectKey, ...] = ()
    copies: CopyReports = field(default_factory=CopyReports, repr=False)
    works: Mapping[str, Sequence[Body]] = field(default_factory=dict, repr=False)
    overriding: Overriding = nothing_overridden
    snapshots: Sequence[Body] = ()
    silence: Silence = NEVER

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
        found = {key: self.copies.of(key, binding.target) for key in self.resources}
        copies = [one for one in found.values() if one is not None]
        told = tuple(_told(copies, binding)) if copies else ()
        silent = any(one is None and is_judged(*key[:2]) for key, one in found.items())
        return () if silent and all(one.status == "True" for one in told) else told


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
    found: dict[str, list[Body]] = {}
    for one in works:
        if mapping(one.body, "metadata").get("deletionTimestamp") is None:
            found.setdefault(one.key.reporter, []).append(one.body)
    return found


def keys_of(resources: Iterable[Resource] | None) -> tuple[ObjectKey, ...]:
    """Return the objects behind selected resources."""
    return tuple(resource_key(resource.entry) for resource in resources or ())
