"""ClusterEviction: a cluster that the workload is leaving is not chosen again."""

from collections.abc import Iterator
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.framework import Rejection

REASON = "cluster(s) is in the process of eviction"
REMEDY = "end the eviction: healthy elsewhere, or its time over"


def reject_evicting(request: Request, _members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters that a graceful eviction task names, even where the workload still is.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clustereviction/cluster_eviction.go
    `Filter`.
    """
    yield Rejection(request.evicting, REASON, REMEDY)
