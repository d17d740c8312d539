"""TopologySpreadConstraints, soft and hard: clusters that make the spread more even come first."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Levels, Mask


def score_topology(
    request: Request, _members: Members, _feasible: Mask, _now: datetime, /
) -> Levels:
    """Score by how picking each cluster would change the spread.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/plugin.go
    `Score`.
    """
    return request.topology.scores
