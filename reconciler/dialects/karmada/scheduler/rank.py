"""The order of the feasible clusters, and the scores that it is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Capacity, Members
from reconciler.dialects.karmada.scheduler.profile import PROFILE
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import (
    NO_CLUSTERS,
    Levels,
    Mask,
    added,
    positions_of,
    score_at,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The feasible clusters in order, and what the order was made of.

    Attributes:
        order: Positions, best first.
        rooms: What each cluster of the order can take, `None` if that alone does not order them.
        capacity: What each cluster of the fleet can take beyond what it holds.
        held: Position to replicas of the clusters in spec.clusters; of two entries the first.
        scores: What each score answered, by its name.
        totals: The feasible clusters by the sum of their scores, the greatest first.
        tiers: The feasible clusters by overflow group, disjoint; one entry where nothing overflows.
    """

    order: Sequence[int]
    rooms: Sequence[int] | None
    capacity: Capacity
    held: Mapping[int, int]
    scores: Mapping[str, Levels]
    totals: Levels
    tiers: tuple[Mask, ...]

    def available(self, position: int) -> int:
        """Return what the cluster can take plus what it holds."""
        return self.capacity.column[position] + self.held.get(position, 0)

    def score(self, position: int) -> int:
        """Return the sum of the cluster's scores."""
        totals = self.totals  # of all feasible clusters, so one level is that of each
        return totals[0][0] if len(totals) == 1 else score_at(totals, position)


def rank(
    request: Request, members: Members, feasible: Mask, capacity: Capacity, now: datetime
) -> Ranking:
    """Order the feasible clusters by overflow group, score, available replicas and name.

    Clusters that hold nothing keep the order of the capacity alone, which equal questions share.
    Only those are sorted here that score like one where the workload is already.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/util.go `sortClusters`.
    """
    held: dict[int, int] = {}
    for position, replicas in request.held:
        held.setdefault(position, replicas)
    scores = {
        name: score(request, members, feasible, now) for name, score in PROFILE.scores.items()
    }
    totals = added(scores.values(), feasible)
    tiers = _tiers(request, members, feasible)
    parts: list[Sequence[int]] = []
    rooms: Sequence[int] | None = None
    for tier in tiers:
        for _, having in totals:
            among = Mask(tier & having)
            if among & request.targets:
                placed = positions_of(among)
                placed.sort(key=lambda i: (-capacity.column[i] - held.get(i, 0), i))
                parts.append(placed)
            elif among:
                part, rooms = _by_capacity(members, capacity, among)
                parts.append(part)
    alone = len(parts) == 1
    return Ranking(
        order=parts[0] if alone else [position for part in parts for position in part],
        rooms=rooms if alone else None,
        capacity=capacity,
        held=held,
        scores=scores,
        totals=totals,
        tiers=tiers,
    )


def _by_capacity(
    members: Members, capacity: Capacity, clusters: Mask
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the order of the capacity of some clusters only, and what each can take."""
    if not capacity.shared:
        return capacity.order.numbered(clusters)
    question = capacity.ask, clusters
    return remember(members.orders, question, lambda: capacity.order.numbered(clusters))


def _tiers(request: Request, members: Members, feasible: Mask) -> tuple[Mask, ...]:
    if not request.tiers:
        return (feasible,)
    tiers, left = [], feasible
    for affinity in request.tiers:
        tier = Mask(left & members.matching(affinity))
        left = Mask(left & ~tier)
        tiers.append(tier)
    return (*tiers, left) if left != NO_CLUSTERS else tuple(tiers)
