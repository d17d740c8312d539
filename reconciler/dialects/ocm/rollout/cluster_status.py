"""How far one cluster is in a rollout.

Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1alpha1/rollout.go `determineRolloutStatus`.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from reconciler.dialects.ocm.rollout.deadline import parse_deadline
from reconciler.dialects.ocm.rollout.decision_groups import UNNAMED_FIRST, GroupKey
from reconciler.dialects.ocm.rollout.strategy import PlacementRollout, RolloutType
from reconciler.manifests.durations import LONGEST
from reconciler.model.identity import ClusterName
from reconciler.model.moments import add, span


class RolloutStatus(StrEnum):
    """How far a cluster is."""

    TO_APPLY = "ToApply"
    PROGRESSING = "Progressing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TIME_OUT = "TimeOut"
    SKIP = "Skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRollout:
    """One cluster in a rollout.

    Attributes:
        cluster: Its name.
        group: The decision group that it is in.
        status: How far it is.
        changed_at: Since when it is there, `None` if that is not known.
        recheck_at: When time alone changes it, `None` if never.
    """

    cluster: ClusterName
    group: GroupKey = UNNAMED_FIRST
    status: RolloutStatus = RolloutStatus.TO_APPLY
    changed_at: datetime | None = None
    recheck_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How long clusters may take, and must have succeeded; `None` for no limit."""

    now: datetime
    soak: timedelta
    deadline: timedelta | None

    def judge(self, one: ClusterRollout) -> tuple[ClusterRollout, bool]:
        """Return a cluster as it is now, and whether anything is still to be done about it."""
        base = one.changed_at or self.now
        match one.status:
            case RolloutStatus.TO_APPLY:
                return one, True
            case RolloutStatus.SUCCEEDED:
                done_at = add(base, self.soak)
                if self.now < done_at:
                    return replace(one, recheck_at=done_at), True
                return one, False
            case RolloutStatus.PROGRESSING | RolloutStatus.FAILED:
                if self.deadline is None:
                    return replace(one, recheck_at=None), True
                late_at = add(base, self.deadline)
                judged = replace(one, recheck_at=late_at)
                if self.now < late_at:
                    return judged, True
                return replace(judged, status=RolloutStatus.TIME_OUT), True
        return one, False


def limits_of(strategy: PlacementRollout, now: datetime) -> Limits:
    """Return the limits of a strategy; one of all clusters at once asks for no soak.

    Raises:
        UserError: The deadline cannot be read.
    """
    deadline = parse_deadline(strategy.progress_deadline)
    soak = strategy.min_success_nanoseconds
    if strategy.type is RolloutType.ALL or soak == LONGEST:  # upstream's sum overflows
        soak = 0
    return Limits(now, _span(soak), None if deadline == LONGEST else _span(deadline))


def _span(nanoseconds: int) -> timedelta:
    return span(microseconds=nanoseconds // 1000)
