"""A toy: a cluster that is closed takes no new work."""

from collections.abc import Iterator
from datetime import datetime

from reconciler.dialects.ocm.api.cluster import Members, Request
from reconciler.schedule.framework import NO_CLUSTERS, Rejection


def reject_closed(_request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters with the label `closed: "yes"`."""
    closed = members.fleet.by_label.get("closed", {}).get("yes", NO_CLUSTERS)
    yield Rejection(closed, "cluster(s) are closed", "lose the label closed")
