"""TopologySpreadConstraints, hard: a cluster must not make the spread too uneven."""

from collections.abc import Iterable
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Rejection


def reject_skew(request: Request, _members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters whose picking would violate a hard spread constraint.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/plugin.go
    `Filter`.
    """
    return request.topology.rejections
