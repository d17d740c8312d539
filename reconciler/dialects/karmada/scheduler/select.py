"""Ranking of the feasible clusters, and selection: all of them, or as many as spread asks for.

With a region constraint each region is scored, and the clusters come from the best set of regions.
Upstream enumerates the sets that will do: it walks through the regions in a fixed order, depth
first, and notes a set as soon as it offers enough clusters; a noted set is not extended. There are
exponentially many, so they are not listed here. Whether a set is noted depends only on how many
regions and clusters it has, and its rank only on sums, so the best one is found by dynamic
programming over (next region, regions so far, clusters so far).

How a binding wants to be spread is read from the placement that stands in it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding_spec import placement_in
from reconciler.dialects.karmada.api.cluster import Capacity, Members
from reconciler.dialects.karmada.api.names import CLUSTER
from reconciler.dialects.karmada.api.placement import (
    DIVIDED,
    WEIGHTED,
    Placement,
    SpreadConstraint,
    decode_spread,
)
from reconciler.dialects.karmada.scheduler.plugins import PROFILE, Failure, Request, scheduler_error
from reconciler.dialects.view import SpreadWish, SpreadWishes
from reconciler.model.body import Body
from reconciler.model.fields import mapping, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.records import dataclass
from reconciler.model.world import World
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Levels, Mask, added, positions_of, score_at

State = tuple[int, int]
"""Regions taken so far, and the clusters they offer, counted up to as many as are needed."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region with its clusters, best first; `value` counts them, `weight` is the score."""

    name: str
    clusters: Sequence[int]
    weight: int

    @property
    def value(self) -> int:
        """How many clusters it offers."""
        return len(self.clusters)


class _Rest(NamedTuple):
    """The best way to complete a set: what it adds, and the regions, first one first.

    A tuple, since one is made for each state: a frozen class takes three times as long.
    """

    weight: int
    value: int
    first: int = -1
    then: "_Rest | None" = None


def choose_regions(
    regions: Sequence[Region], *, fewest: int, most: int, min_clusters: int
) -> tuple[Region, ...]:
    """Return the best set of regions in order of weight, an empty one if none will do.

    The heaviest set wins, then the one with more clusters, then the one that is found first. If the
    heaviest regions of the winner are a noted set by themselves, the smallest such set is taken.

    Args:
        regions: All that have a feasible cluster.
        fewest: How many regions at least.
        most: How many at most; 0 allows none.
        min_clusters: How many clusters they must offer together.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_groups.go `selectGroups`.
    """
    ordered = sorted(regions, key=lambda region: (region.value, -region.weight, region.name))
    limits = _Limits(fewest, most, min_clusters)
    rest = _best(ordered, limits)
    positions: list[int] = []
    while rest is not None and rest.first >= 0:
        positions.append(rest.first)
        rest = rest.then
    best = sorted(positions, key=lambda position: _by_weight(ordered[position]))
    for count in range(1, len(best)):
        if limits.notes([ordered[position].value for position in sorted(best[:count])]):
            best = best[:count]
            break
    return tuple(ordered[position] for position in best)


def _by_weight(region: Region) -> tuple[int, str]:
    return (-region.weight, region.name)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a set must satisfy to be noted."""

    fewest: int
    most: int
    clusters: int

    def met(self, state: State) -> bool:
        """Whether a set of this size is noted, and so not extended."""
        taken, offered = state
        return self.fewest <= taken <= self.most and offered >= self.clusters

    def notes(self, values: Sequence[int]) -> bool:
        """Whether the walk notes a set, given its values in the order of the walk."""
        before = (len(values) - 1, sum(values[:-1]))
        return self.met((len(values), sum(values))) and not self.met(before)

    def add(self, state: State, region: Region) -> State:
        """The state after one more region."""
        return (state[0] + 1, min(self.clusters, state[1] + region.value))


def _best(regions: Sequence[Region], limits: _Limits) -> _Rest | None:
    """Return the best set as a chain, `None` if the walk notes none."""
    start: State = (0, 0)
    if limits.met(start):
        return _Rest(0, 0)
    reached: list[set[State]] = [{start}]
    for region in regions:
        states = reached[-1]
        taken = {limits.add(state, region) for state in states if state[0] < limits.most}
        reached.append(states | {state for state in taken if not limits.met(state)})
    rests: dict[State, _Rest] = {}
    for place in range(len(regions) - 1, -1, -1):
        rests = {
            state: best
            for state in reached[place]
            if (best := _better(state, place, regions[place], limits, rests)) is not None
        }
    return rests.get(start)


def _better(
    state: State, place: int, region: Region, limits: _Limits, rests: dict[State, _Rest]
) -> _Rest | None:
    """Return the better of taking a region and leaving it; on a tie the walk takes it first."""
    left = rests.get(state)
    if state[0] >= limits.most:
        return left
    after = limits.add(state, region)
    rest = _Rest(0, 0) if limits.met(after) else rests.get(after)
    if rest is None:
        return left
    taken = _Rest(rest.weight + region.weight, rest.value + region.value, place, rest)
    if left is None or (taken.weight, taken.value) >= (left.weight, left.value):
        return taken
    return left


def _zone(cluster: Body) -> str:
    spec = mapping(cluster, "spec")
    return next(iter(strings(spec, "zones")), "") or text(spec, "zone")


def _labelled(label: str, cluster: Body) -> str:
    return labels_of(cluster).get(label, "")


FIELDS: Mapping[str, Callable[[Body], str]] = {
    "cluster": lambda cluster: text(mapping(cluster, "metadata"), "name"),
    "provider": lambda cluster: text(mapping(cluster, "spec"), "provider"),
    "region": lambda cluster: text(mapping(cluster, "spec"), "region"),
    "zone": _zone,
}
"""`spreadByField` to what it says of a cluster; one in several zones counts by the first."""


def spread_wishes(world: World) -> SpreadWishes:
    """Return what says how bindings want to be spread over the clusters of a world."""
    clusters = {one.key.name: one.body for one in world.of_kind(*CLUSTER)}
    cached: dict[tuple[str, str], dict[str, str]] = {}

    def domains(constraint: SpreadConstraint) -> dict[str, str]:
        field, label = constraint.spread_by_field, constraint.spread_by_label
        if (field, label) not in cached:
            read = FIELDS.get(field, partial(_labelled, label))
            values = ((name, read(body)) for name, body in clusters.items())
            cached[field, label] = {name: value for name, value in values if value}
        return cached[field, label]

    def of_binding(key: ObjectKey) -> tuple[SpreadWish, ...]:
        binding = world.outputs.get(key)
        placement = None if binding is None else placement_in(binding.body)
        return tuple(
            SpreadWish(
                name=one.spread_by_field or one.spread_by_label,
                domain_of=domains(one),
                least=one.min_groups,
                most=one.max_groups or None,
            )
            for one in decode_spread(placement or {})
        )

    return of_binding


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
    tiers, remaining = [], feasible
    for affinity in request.tiers:
        tier = Mask(remaining & members.matching(affinity))
        remaining = Mask(remaining & ~tier)
        tiers.append(tier)
    return (*tiers, remaining) if remaining != NO_CLUSTERS else tuple(tiers)


def select_clusters(
    placement: Placement, replicas: int, ranking: Ranking, members: Members
) -> Sequence[int] | Failure:
    """Return the positions of the selected clusters, in the order of their selection.

    Of several constraints on one field the last counts. Constraints by provider and zone only
    filter; those by label are not supported.

    Args:
        placement: Names the constraints.
        replicas: What the selected clusters must have room for, unless replicas are duplicated.
        ranking: The feasible clusters.
        members: Says which region a cluster is in.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters.go
    `SelectBestClusters`.
    """
    if not placement.spread_constraints or ignores_spread(placement):
        return ranking.order
    by_field = {item.spread_by_field: item for item in placement.spread_constraints}
    clusters = by_field.get("cluster")
    if "region" in by_field:
        return select_by_region(
            by_field["region"],
            clusters or SpreadConstraint(),
            None if placement.duplicated else replicas,
            replicas,
            ranking,
            members,
        )
    if clusters is not None:
        return _select_by_cluster(clusters, None if placement.duplicated else replicas, ranking)
    return scheduler_error("just support cluster and region spread constraint")


def ignores_spread(placement: Placement) -> bool:
    """Return whether the strategy takes all clusters whatever the constraints: static weights do.

    A weight preference that is present and empty means equal weights too, yet does not ignore them.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters.go
    `shouldIgnoreSpreadConstraint`.
    """
    scheduling = placement.replica_scheduling
    if scheduling is None or scheduling.type != DIVIDED or scheduling.preference != WEIGHTED:
        return False
    weights = scheduling.weights
    return weights is None or (bool(weights.static_weights) and not weights.dynamic_weight)


def _select_by_cluster(
    constraint: SpreadConstraint, replicas: int | None, ranking: Ranking
) -> Sequence[int] | Failure:
    """Take the best clusters, then exchange the last of them for roomier ones until all fits.

    `replicas` is `None` where room does not matter.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters_by_cluster.go
    `selectBestClustersByCluster`; maxGroups left out counts as 0.
    """
    order = ranking.order
    if len(order) < constraint.min_groups:
        return scheduler_error(
            "the number of feasible clusters is less than spreadConstraint.MinGroups"
        )
    need = max(0, min(len(order), constraint.max_groups))
    if replicas is None:
        return order[:need]
    chosen, rest = list(order[:need]), list(order[need:])
    rooms = [ranking.available(position) for position in rest]
    total = sum(map(ranking.available, chosen))
    for place in range(need - 1, -1, -1):
        if total >= replicas:
            break
        room = ranking.available(chosen[place])
        best = max(rooms, default=room)
        if best > room:
            other = rooms.index(best)
            chosen[place], rest[other] = rest[other], chosen[place]
            rooms[other] = room
            total += best - room
    if not chosen or total < replicas:
        return scheduler_error(f"no enough resource when selecting {need} clusters")
    return chosen


WEIGHT_UNIT = 1000  # karmada@f8fdd02 group_clusters.go: room before scores
INFINITE = -(2**63)  # what amd64 makes of an infinite float64, converted to int64


def select_by_region(
    region_constraint: SpreadConstraint,
    cluster_constraint: SpreadConstraint,
    divided_replicas: int | None,
    replicas: int,
    ranking: Ranking,
    members: Members,
) -> Sequence[int] | Failure:
    """Return the best cluster of each chosen region, then the best of the rest of these regions.

    Whether the clusters have room for all replicas is not checked here.

    Args:
        region_constraint: How many regions.
        cluster_constraint: How many clusters; all zero where there is no such constraint.
        divided_replicas: What the regions share, `None` where each cluster gets all replicas.
        replicas: What each cluster gets where they do not share.
        ranking: The feasible clusters.
        members: Says which region a cluster is in.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters_by_region.go
    `selectBestClustersByRegion`.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    order = ranking.order
    for region, position in zip(map(members.regions.__getitem__, order), order, strict=True):
        groups[region].append(position)
    groups.pop("", None)
    least = region_constraint.min_groups
    if len(groups) < least:
        return scheduler_error(
            "the number of feasible region is less than spreadConstraint.MinGroups"
        )
    fewest = max(cluster_constraint.min_groups, least)
    regions = [
        Region(
            name,
            clusters,
            score_duplicated(clusters, replicas, ranking)
            if divided_replicas is None
            else score_divided(clusters, divided_replicas, least, fewest, ranking),
        )
        for name, clusters in groups.items()
    ]
    chosen = choose_regions(
        regions,
        fewest=least,
        most=region_constraint.max_groups,
        min_clusters=cluster_constraint.min_groups,
    )
    if not chosen:
        return scheduler_error(
            "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        )
    return _clusters_of(chosen, cluster_constraint.max_groups, ranking)


def _clusters_of(chosen: Sequence[Region], most: int, ranking: Ranking) -> list[int]:
    selected = [region.clusters[0] for region in chosen]
    offered = {position for region in chosen for position in region.clusters}
    missing = min(len(offered), most) - len(selected)
    if missing > 0:
        offered.difference_update(selected)
        rest = (position for position in ranking.order if position in offered)
        selected += [position for position, _ in zip(rest, range(missing), strict=False)]
    return selected


def score_duplicated(clusters: Sequence[int], replicas: int, ranking: Ranking) -> int:
    """Score a region by how many clusters could take all replicas, then by their mean score.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/group_clusters.go
    `calcGroupScoreForDuplicate`.
    """
    valid = [position for position in clusters if ranking.available(position) >= replicas]
    if not valid:
        return 0
    return len(valid) * WEIGHT_UNIT + sum(map(ranking.score, valid)) // len(valid)


def score_divided(
    clusters: Sequence[int], replicas: int, min_groups: int, fewest: int, ranking: Ranking
) -> int:
    """Score a region by whether its best clusters have room for its share, then by mean score.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/group_clusters.go `calcGroupScore`.
    Without minGroups the share is a division by zero, which Go leaves to the platform.
    """
    target = -(-replicas // min_groups) if min_groups else INFINITE
    room = score = 0
    walked = 0
    for position in clusters:
        room += ranking.available(position)
        score += ranking.score(position)
        walked += 1
        if walked >= fewest and room >= target:
            break
    if room < target:
        return _wrap64(room * WEIGHT_UNIT + score // len(clusters))
    return _wrap64(target * WEIGHT_UNIT + score // walked)


def _wrap64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
