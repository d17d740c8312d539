"""ClusterAffinity: the cluster must be one that the placement means."""

from collections.abc import Iterator
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection

REASON = "cluster(s) did not match the placement cluster affinity constraint"


def reject_affinity(request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters outside of the affinity, or of the group being tried and its overflow.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go
    `Filter`.
    """
    if request.affinities is None:
        return
    matching = NO_CLUSTERS
    for affinity in request.affinities:
        matching = Mask(matching | members.matching(affinity))
    yield Rejection(Mask(members.fleet.all & ~matching), REASON, _remedy(request))


def _remedy(request: Request) -> str:
    if request.affinity_name:
        return f"be meant by the affinity group {request.affinity_name}"
    return "be meant by placement.clusterAffinity: its names, labels and fields"
