"""What the scheduler decided about one binding, with all that explains it, formatted late."""

from collections.abc import Sequence
from typing import NamedTuple

from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.scheduler.division import Division
from reconciler.dialects.karmada.scheduler.failure import Failure
from reconciler.dialects.karmada.scheduler.rank import Ranking
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.model.conditions import Condition
from reconciler.schedule.framework import Mask, Rejection


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
