"""A toy: clusters come first that are liked."""

from datetime import datetime

from reconciler.dialects.ocm.api.cluster import Members, Request, Scores
from reconciler.schedule.framework import Mask, positions_of


def score_liking(_request: Request, members: Members, feasible: Mask, _now: datetime, /) -> Scores:
    """Score by the number in the label `liked`."""
    clusters = members.fleet.clusters
    return Scores([int(clusters[i].labels.get("liked", "0")) for i in positions_of(feasible)])
