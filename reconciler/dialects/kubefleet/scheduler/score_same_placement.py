"""SamePlacementAffinity: a cluster that an earlier policy had picked comes before another."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Levels, Mask


def score_placed(request: Request, _members: Members, _feasible: Mask, _now: datetime, /) -> Levels:
    """Score 1 for each cluster that an earlier policy had picked; no decision shows it.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/sameplacementaffinity/scoring.go
    `Score`.
    """
    return ((1, request.obsolete),) if request.obsolete else ()
