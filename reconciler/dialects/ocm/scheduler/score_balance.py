"""Balance: clusters that other placements have chosen less often come first."""

from datetime import datetime
from itertools import repeat

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.schedule.columns import coded, column_of, of_clusters
from reconciler.schedule.framework import Mask

MAX_SCORE = 100


def score_balance(request: Request, members: Members, feasible: Mask, _now: datetime, /) -> Scores:
    """Score by how often anyone else has chosen the cluster, against the most chosen of all.

    A cluster that no placement chose gets 100. The most chosen one need not be feasible, nor exist.

    Source: ocm@00f84c3 pkg/placement/plugins/balance/balance.go `Score`.
    """
    del members
    others = request.others
    most = 0 if others is None else others.most
    if others is None or most == 0:
        return Scores(column_of(repeat(MAX_SCORE, feasible.bit_count())))
    table = [2 * int(MAX_SCORE * (0.5 - count / most)) for count in range(most + 1)]
    return Scores(coded(of_clusters(others.column, feasible), table))
