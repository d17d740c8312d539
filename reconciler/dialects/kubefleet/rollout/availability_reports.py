"""What member clusters report of the resources of one placement."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.kubefleet.snapshots.resource_entry import resource_key
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import Resource
from reconciler.model.health import Health, health_of
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailabilityReports:
    """Who reports what.

    Attributes:
        resources: The resources that the placement selects.
        feedback: All reports, by keys that name the reporter.
        assume_after_seconds: How long a cluster that reports none of them may be silent, see
            `model/availability.py`.
    """

    resources: tuple[ObjectKey, ...] = ()
    feedback: Mapping[ObjectKey, Manifest] = field(default_factory=dict, repr=False)
    assume_after_seconds: int | None = None

    def availability(self, cluster: str) -> bool | None:
        """Return whether a cluster reports the resources as available, `None` if it reports none.

        Of those that it reports none may be unhealthy; a kind without health counts as available.

        Source: kubefleet@e160c1c pkg/controllers/workapplier/availability_tracker.go
        `trackInMemberClusterObjAvailabilityByGVR`.
        """
        if not self.feedback:
            return None
        reports = (self.feedback.get(key._replace(reporter=cluster)) for key in self.resources)
        found = [health_of(report.body) for report in reports if report is not None]
        return Health.UNHEALTHY not in found if found else None


def reports_on(
    resources: Iterable[ObjectKey], feedback: Mapping[ObjectKey, Manifest]
) -> tuple[Body, ...]:
    """Return all reports of some resources, by key."""
    wanted = set(resources) if feedback else set()
    return tuple(
        feedback[key].body for key in sorted(feedback) if key._replace(reporter="") in wanted
    )


def keys_of(resources: Iterable[Resource] | None) -> tuple[ObjectKey, ...]:
    """Return the objects behind selected resources."""
    return tuple(resource_key(resource.entry) for resource in resources or ())
