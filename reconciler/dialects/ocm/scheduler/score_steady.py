"""Steady: clusters that are chosen already stay chosen."""

from datetime import datetime

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement_decision import PLACEMENT_LABEL
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.errors import UserError
from reconciler.model.selectors import refusal_of_value
from reconciler.schedule.columns import flagged, of_clusters
from reconciler.schedule.framework import Mask

MAX_SCORE = 100


def score_steady(request: Request, members: Members, feasible: Mask, _now: datetime, /) -> Scores:
    """Score 100 for what the placement has decided, 0 for the others.

    Raises:
        UserError: The placement's name cannot be a label, so its decisions cannot be found.

    Source: ocm@00f84c3 pkg/placement/plugins/steady/steady.go `Score`.
    """
    refusal = refusal_of_value(PLACEMENT_LABEL, request.placement.name)
    if refusal:
        raise UserError(refusal)
    steadied = flagged(request.decided, len(members.fleet.names), MAX_SCORE)
    return Scores(of_clusters(steadied, feasible))
