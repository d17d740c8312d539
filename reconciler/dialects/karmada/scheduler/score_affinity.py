"""ClusterAffinity: no preference; the affinity only filters."""

from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.framework import Levels, Mask


def score_affinity(
    _request: Request, _members: Members, _feasible: Mask, _now: datetime, /
) -> Levels:
    """Score every cluster 0.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go
    `Score`.
    """
    return ()
