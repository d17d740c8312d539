"""Capacity: where room is protected, a cluster must have room for all that a placement selects.

Ours: upstream's scheduler knows what a cluster has as properties only, and no placement takes any.
"""

from collections.abc import Iterable
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Rejection


def reject_full(request: Request, members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that cannot hold what would be added, but for those that have it already."""
    return () if request.room is None else request.room.rejections(members)
