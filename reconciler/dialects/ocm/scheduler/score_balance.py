"""Balance: clusters that other placements have chosen less often come first."""

from datetime import datetime
from itertools import compress, repeat

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.schedule.framework import Mask, bits_of

MAX_SCORE = 100


def score_balance(request: Request, members: Members, feasible: Mask, _now: datetime, /) -> Scores:
    """Score by how often anyone else has chosen the cluster, against the most chosen of all.

    A cluster that no placement chose gets 100. The most chosen one need not be feasible, nor exist.

    Source: ocm@00f84c3 pkg/placement/plugins/balance/balance.go `Score`.
    """
    others = request.others
    most = max(others.values(), default=0)
    by_count = {
        count: 2 * int(MAX_SCORE * (0.5 - count / most)) for count in set(others.values()) if count
    }
    by_count[0] = MAX_SCORE
    names = compress(members.fleet.names, bits_of(feasible, len(members.fleet.names)))
    return Scores([*map(by_count.__getitem__, map(others.get, names, repeat(0)))])
