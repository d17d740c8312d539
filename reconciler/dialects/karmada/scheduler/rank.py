"""Scores and the order of the feasible clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Capacity, Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NOBODY, Column, Mask, bits_of, positions_of

MIN_SCORE = 0
MAX_SCORE = 100


def score_affinity(
    _request: Request, _members: Members, feasible: Mask, _now: datetime, /
) -> Column:
    """Score every cluster alike; the affinity only filters.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go
    `Score`.
    """
    return [MIN_SCORE] * feasible.bit_count()


def score_locality(
    request: Request, _members: Members, feasible: Mask, _now: datetime, /
) -> Column:
    """Prefer the clusters where the workload is already, with whatever replicas.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusterlocality/cluster_locality.go
    `Score`.
    """
    bits = bits_of(request.targets, feasible.bit_length())
    return [MAX_SCORE * bits[position] for position in positions_of(feasible)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The feasible clusters in order, and what the order was made of.

    Attributes:
        order: Positions, best first.
        capacity: What each cluster of the fleet can take beyond what it holds.
        held: Position to replicas of the clusters in spec.clusters; of two entries the first.
        local: The clusters that score 100, all others score 0.
        tiers: The feasible clusters by overflow group, disjoint; one entry where nothing overflows.
    """

    order: Sequence[int]
    capacity: Capacity
    held: Mapping[int, int]
    local: Mask
    tiers: tuple[Mask, ...]

    def available(self, position: int) -> int:
        """Return what the cluster can take plus what it holds."""
        return self.capacity.column[position] + self.held.get(position, 0)

    def score(self, position: int) -> int:
        """Return the sum of the cluster's scores."""
        return MAX_SCORE if self.local >> position & 1 else MIN_SCORE


def rank(request: Request, members: Members, feasible: Mask, capacity: Capacity) -> Ranking:
    """Order the feasible clusters by overflow group, score, available replicas and name.

    Clusters that hold nothing keep the order of the capacity alone, which equal questions share; so
    only the few where the workload is already are sorted here.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/util.go `sortClusters`.
    """
    held: dict[int, int] = {}
    for position, replicas in request.held:
        held.setdefault(position, replicas)
    local = Mask(request.targets & feasible)
    tiers = _tiers(request, members, feasible)
    column = capacity.column
    parts: list[Sequence[int]] = []
    for tier in tiers:
        placed = positions_of(Mask(tier & local))
        placed.sort(key=lambda i: (-column[i] - held.get(i, 0), i))
        others = _by_capacity(members, capacity, tier)
        if placed:
            there = set(placed)
            others = tuple(position for position in others if position not in there)
        parts += [part for part in (placed, others) if part]
    order = parts[0] if len(parts) == 1 else [position for part in parts for position in part]
    return Ranking(order=order, capacity=capacity, held=held, local=local, tiers=tiers)


def _by_capacity(members: Members, capacity: Capacity, clusters: Mask) -> tuple[int, ...]:
    def order() -> tuple[int, ...]:
        bits = bits_of(clusters, len(members.views))
        return tuple(position for position in capacity.order if bits[position])

    return remember(members.orders, (capacity.ask, clusters), order)


def _tiers(request: Request, members: Members, feasible: Mask) -> tuple[Mask, ...]:
    if not request.tiers:
        return (feasible,)
    tiers, left = [], feasible
    for affinity in request.tiers:
        tier = Mask(left & members.matching(affinity))
        left = Mask(left & ~tier)
        tiers.append(tier)
    return (*tiers, left) if left != NOBODY else tuple(tiers)
