"""ClusterEligibility: the cluster must be connected, joined and healthy."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Rejection, mask_of

REPORT = "have a member agent that reports as joined and healthy"
STAY = "stay in the fleet"


@dataclass(frozen=True, slots=True)
class Ineligible:
    """Why a cluster cannot receive resources."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def reject_ineligible(
    _request: Request, members: Members, _now: datetime, /
) -> Iterable[Rejection]:
    """Reject clusters that cannot receive resources, one rejection for each sentence.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clustereligibility/plugin.go `Filter`.
    """
    return remember(members.ineligible, True, lambda: _ineligible(members))


def _ineligible(members: Members) -> tuple[Rejection, ...]:
    by_reason: dict[str, list[int]] = {}
    for position, reason in members.reasons.items():
        by_reason.setdefault(reason, []).append(position)
    return tuple(
        Rejection(
            mask_of(positions), Ineligible(reason), STAY if "left the fleet" in reason else REPORT
        )
        for reason, positions in by_reason.items()
    )
