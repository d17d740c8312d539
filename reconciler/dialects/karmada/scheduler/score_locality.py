"""ClusterLocality: clusters where the workload is already come first."""

from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.framework import Levels, Mask

MAX_SCORE = 100


def score_locality(
    request: Request, _members: Members, _feasible: Mask, _now: datetime, /
) -> Levels:
    """Prefer the clusters where the workload is already, with whatever replicas.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusterlocality/cluster_locality.go
    `Score`.
    """
    return ((MAX_SCORE, request.targets),) if request.targets else ()
