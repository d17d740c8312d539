"""ResourceAllocatableCPU and ResourceAllocatableMemory: the largest clusters come first."""

import math
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.schedule.columns import coded, distinct, of_clusters
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask

MAX_SCORE = 100
MOST_COLUMNS = 64  # ours: distinct sets of clusters that a pass remembers
LEAST_INT64 = -(2**63)  # Go's conversion of what is no number, as of an amount of 1e400


@dataclass(frozen=True, slots=True)
class ScoreAllocatable:
    """The prioritizer of one resource, `cpu` or `memory`."""

    resource: str

    def __call__(
        self, _request: Request, members: Members, feasible: Mask, _now: datetime, /
    ) -> Scores:
        """Score by where the amount lies between the least and the most of the feasible clusters.

        A cluster without an amount gets no score, which counts as 0 and beats the poorest.

        Source: ocm@00f84c3 pkg/placement/plugins/resource/resource.go
        `mostResourceAllocatableScores`.
        """
        question = self.resource, feasible
        measure = partial(self._measure, members, feasible)
        return remember(members.measurements, question, measure, limit=MOST_COLUMNS)

    def _measure(self, members: Members, feasible: Mask) -> Scores:
        """Score the feasible clusters; placements that may choose from the same share this."""
        amounts = members.amounts(self.resource)
        codes = of_clusters(amounts.codes, feasible)
        found = {code: amounts.distinct[code] for code in distinct(codes)}
        known = [amount for amount in found.values() if amount is not None]
        least, most = min(known, default=0.0), max(known, default=0.0)
        table = [0] * len(amounts.distinct)
        for code, amount in found.items():
            table[code] = _score(amount, least, most)
        return Scores(coded(codes, table), silent=Mask(feasible & amounts.missing))


def _score(amount: float | None, least: float, most: float) -> int:
    """Return one score, in upstream's order of operations, cut toward zero."""
    if amount is None:
        return 0
    if most - least == 0:
        return MAX_SCORE
    score = ((amount - least) / (most - least) - 0.5) * 2.0 * 100.0
    return LEAST_INT64 if math.isnan(score) else int(score)
