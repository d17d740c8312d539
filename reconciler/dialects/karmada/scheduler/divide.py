"""Division of replicas among the selected clusters.

The strategy of the placement decides by what: by static weights that a policy names, by room, or by
a score that add-ons report, which takes the place of room. How a division begins depends on what
the clusters already run. Replicas are handed out by weight, only among the clusters that can get
any. The steps are recorded with the result.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import repeat
from operator import neg
from typing import NamedTuple

from reconciler.dialects.karmada.api.cluster import Members
from reconciler.dialects.karmada.api.placement import (
    AGGREGATED,
    DIVIDED,
    WEIGHTED,
    Placement,
    ReplicaScheduling,
    StaticWeight,
)
from reconciler.dialects.karmada.scheduler.plugins import (
    Failure,
    Request,
    scheduler_error,
    unschedulable,
)
from reconciler.dialects.karmada.scheduler.room import wrap32
from reconciler.dialects.karmada.scheduler.select import Ranking
from reconciler.dialects.scores import Reported, read_score
from reconciler.schedule.apportion import allot, breaks_ties_descending, least_weight
from reconciler.schedule.columns import places_of
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Mask, mask_of
from reconciler.schedule.gosort import sort_descending

Shares = list[tuple[int, int]]
"""Position and replicas, in upstream's order."""


def dispense(
    replicas: int,
    parties: Sequence[int],
    weights: Sequence[int],
    uid: str,
    *,
    ordered: bool = False,
) -> Shares:
    """Hand out replicas by weight; the clusters that may get some, by name.

    Where the weights are `ordered`, the greatest first, those that come too late are not looked at.

    Source: karmada@f8fdd02 pkg/util/helper/webstermethod.go `AllocateWebsterSeats`: of fewer than
    none, none are handed out.
    """
    replicas = max(0, replicas)
    least = least_weight(replicas, weights)
    descending = breaks_ties_descending(uid)
    if ordered:
        shares = _in_time(replicas, parties, weights, least, descending=descending)
    else:
        shares = [party for party in zip(parties, weights, strict=True) if party[1] >= least]
    shares.sort()
    seats = allot(replicas, [weight for _, weight in shares], descending=descending)
    return [(position, seat) for (position, _), seat in zip(shares, seats, strict=True)]


def _in_time(
    replicas: int,
    parties: Sequence[int],
    weights: Sequence[int],
    least: int,
    *,
    descending: bool,
) -> Shares:
    """Return the clusters that can get a replica before none is left, each with its weight.

    Whoever weighs more than the least gets one first; of those with the least weight only as many
    can as replicas are left then, and ties say which.
    """
    greater = bisect_right(weights, -least - 1, key=neg)
    equal = sorted(parties[greater : bisect_right(weights, -least, key=neg)])
    remainder = max(0, replicas - greater)
    first = equal[max(0, len(equal) - remainder) :] if descending else equal[:remainder]
    return [*zip(parties[:greater], weights[:greater], strict=True), *zip(first, repeat(least))]


class DivisionStrategy(StrEnum):
    """How replicas are divided, by upstream's names; the first and `ScoreWeight` are ours."""

    NON_WORKLOAD = "NonWorkload"
    DUPLICATED = "Duplicated"
    STATIC_WEIGHT = "StaticWeight"
    SCORE_WEIGHT = "ScoreWeight"
    DYNAMIC_WEIGHT = "DynamicWeight"
    AGGREGATED = "Aggregated"


class Mode(StrEnum):
    """What the present result has to do with the next one."""

    FRESH = "Fresh"
    SCALE_UP = "ScaleUp"
    SCALE_DOWN = "ScaleDown"
    UNCHANGED = "Unchanged"


class DivisionStep(NamedTuple):
    """One division, for `why`: of all selected clusters, or of one overflow group.

    `target` is what was to be handed out, `room` what the clusters could take (`None` where room
    does not matter), `parties` the positions of those that took part, `weights` what each counted.
    """

    tier: int
    mode: Mode
    target: int
    room: int | None
    parties: Sequence[int] = ()
    weights: Sequence[int] = ()


class Division(NamedTuple):
    """The result, and the steps that led to it; where nothing is divided there are none.

    `each` is what every cluster of the shares gets, `None` where they may differ. `clusters` are
    those of the shares where that is known without looking at them.
    """

    strategy: DivisionStrategy
    shares: Shares
    steps: tuple[DivisionStep, ...] = ()
    each: int | None = None
    clusters: Sequence[int] = ()


def strategy_of(placement: Placement) -> DivisionStrategy | None:
    """Return how a placement divides replicas, `None` if it does not say.

    Source: karmada@f8fdd02 pkg/scheduler/core/assignment.go `newAssignState`.
    """
    scheduling = placement.replica_scheduling
    if scheduling is None or placement.duplicated:
        return DivisionStrategy.DUPLICATED
    if scheduling.type != DIVIDED:
        return None
    if scheduling.preference == AGGREGATED:
        return DivisionStrategy.AGGREGATED
    if scheduling.preference != WEIGHTED:
        return None
    if placement.weighing_score is not None:
        return DivisionStrategy.SCORE_WEIGHT
    dynamic = scheduling.weights is not None and scheduling.weights.dynamic_weight
    return DivisionStrategy.DYNAMIC_WEIGHT if dynamic else DivisionStrategy.STATIC_WEIGHT


FAILED = {
    Mode.FRESH: "failed to do fresh scale",
    Mode.SCALE_UP: "failed to scale up",
    Mode.SCALE_DOWN: "failed to scale down",
}
"""What upstream says of a division that gives no result."""


class Start(NamedTuple):
    """How a division begins: what is to be handed out, and what each cluster holds beside that.

    Where fewer replicas are wanted `present` is what they are handed out by; `held` is what stays.
    """

    mode: Mode
    target: int
    held: Shares
    present: Shares


def start_of(request: Request, clusters: Collection[int], wanted: int) -> Start:
    """Return how a division keeps to what is held, unless a reschedule was asked for.

    Source: karmada@f8fdd02 pkg/scheduler/core/assignment.go `assignByDynamicStrategy`.
    """
    among = set(clusters) if request.held else ()
    held = [share for share in request.held if share[0] in among]
    assigned = wrap32(sum(replicas for _, replicas in held))
    if request.binding.reschedule_required:
        return Start(Mode.FRESH, wanted, [], held)
    if assigned > wanted:
        return Start(Mode.SCALE_DOWN, wanted, [], held)
    if assigned < wanted:
        return Start(Mode.SCALE_UP, wanted - assigned, held, held)
    return Start(Mode.UNCHANGED, 0, held, held)


def unchanged(strategy: DivisionStrategy, held: Shares) -> Division:
    """Return that what is held adds up already."""
    step = DivisionStep(tier=0, mode=Mode.UNCHANGED, target=0, room=0)
    return Division(strategy, held, (step,))


def merge_shares(held: Shares, added: Shares, parties: Sequence[int]) -> Shares:
    """Add to what is held: first the clusters that took part, by name, then the others.

    Unlike upstream: the others keep the order of spec.clusters; upstream's is that of a Go map.

    Source: karmada@f8fdd02 pkg/util/binding.go `MergeTargetClusters`.
    """
    if not held:
        return added
    remaining, shares = dict(held), dict(added)
    for position in remaining.keys() & set(parties):
        shares[position] = shares.get(position, 0) + remaining.pop(position)
    return sorted(shares.items()) + list(remaining.items())


def divide(
    request: Request,
    members: Members,
    ranking: Ranking,
    selected: Sequence[int],
    now: datetime,
    *,
    propagate_empty: bool = False,
) -> Division | Failure:
    """Divide the replicas of a binding among the selected clusters.

    Args:
        request: The binding and its strategy.
        members: Answers which cluster a static weight means.
        ranking: What each cluster can take, and what it holds.
        selected: Positions, in the order of selection.
        now: Aware UTC; scores run out.
        propagate_empty: Append the selected clusters that got nothing, with 0 replicas.

    Source: karmada@f8fdd02 pkg/scheduler/core/common.go `AssignReplicas`; the flag is
    `--enable-empty-workload-propagation`.
    """
    if not selected:
        return scheduler_error("no clusters available to schedule")
    binding = request.binding
    if (binding.replicas == 0 and binding.requirements is None) or binding.components > 1:
        return Division(DivisionStrategy.NON_WORKLOAD, [(position, 0) for position in selected])
    division = _divide(request, members, ranking, selected, now)
    if isinstance(division, Failure):
        return division
    if division.each is not None and division.each > 0:
        return division
    shares = [share for share in division.shares if share[1] > 0]
    if propagate_empty and len(shares) < len(selected):
        having = {position for position, _ in shares}
        shares += [(position, 0) for position in selected if position not in having]
        return Division(division.strategy, shares, division.steps)
    return Division(division.strategy, shares, division.steps, division.each)


def _divide(
    request: Request,
    members: Members,
    ranking: Ranking,
    selected: Sequence[int],
    now: datetime,
) -> Division | Failure:
    """Divide among all selected clusters, or among one overflow group after the other.

    A group is asked for what it has room for, including what it holds already. Where that is less
    than nothing, it gets nothing, and the groups after it are asked for so much more.

    Source: karmada@f8fdd02 pkg/scheduler/core/common.go `assignWorkloadReplicas`.
    """
    strategy = strategy_of(request.placement)
    if strategy is None:
        return _unsupported(request.placement)
    wanted = request.binding.replicas
    if not request.tiers:
        return _divide_tier(strategy, request, members, ranking, selected, now, wanted=wanted)
    shares: Shares = []
    steps: list[DivisionStep] = []
    for number, tier in enumerate(ranking.tiers):
        clusters = [position for position in selected if tier >> position & 1]
        share = min(wanted, sum(map(ranking.available, clusters)))
        if wanted <= 0:
            break
        if not clusters:
            continue
        share = wrap32(share)
        division = _divide_tier(strategy, request, members, ranking, clusters, now, wanted=share)
        if isinstance(division, Failure):
            return division
        shares += division.shares
        steps += [step._replace(tier=number) for step in division.steps]
        wanted = wrap32(wanted - share)
    if wanted > 0:
        return unschedulable("Clusters available replicas are not enough to schedule.")
    return Division(strategy, shares, tuple(steps))


def _unsupported(placement: Placement) -> Failure:
    scheduling = placement.replica_scheduling or ReplicaScheduling()
    return scheduler_error(
        f"unsupported replica scheduling strategy, replicaSchedulingType: {scheduling.type}, "
        f"replicaDivisionPreference: {scheduling.preference}, "
        "please try another scheduling strategy"
    )


def _divide_tier(
    strategy: DivisionStrategy,
    request: Request,
    members: Members,
    ranking: Ranking,
    clusters: Sequence[int],
    now: datetime,
    *,
    wanted: int,
) -> Division | Failure:
    if strategy is DivisionStrategy.DUPLICATED:
        shares = list(zip(clusters, repeat(wanted)))
        return Division(strategy, shares, each=wanted, clusters=clusters)
    if strategy is DivisionStrategy.STATIC_WEIGHT:
        scheduling = request.placement.replica_scheduling
        weights = None if scheduling is None else scheduling.weights
        rules = None if weights is None else weights.static_weights
        everyone = clusters is ranking.order and not request.tiers
        among = ranking.tiers[0] if everyone else mask_of(clusters)
        parties, counts = static_weights(tuple(rules or ()), among, members)
        shares = dispense(wanted, parties, counts, request.binding.uid, ordered=True)
        step = DivisionStep(
            tier=0, mode=Mode.FRESH, target=wanted, room=None, parties=parties, weights=counts
        )
        return Division(strategy, shares, (step,))
    if strategy is DivisionStrategy.SCORE_WEIGHT:
        return divide_by_score(request, members, clusters, now, wanted=wanted)
    return _divide_by_room(strategy, request, ranking, clusters, wanted=wanted)


def _divide_by_room(
    strategy: DivisionStrategy,
    request: Request,
    ranking: Ranking,
    clusters: Sequence[int],
    *,
    wanted: int,
) -> Division | Failure:
    """Divide among some clusters, keeping to what they hold unless a reschedule was asked for.

    Source: karmada@f8fdd02 pkg/scheduler/core/division_algorithm.go `dynamicFreshScale`,
    `dynamicScaleDown`, `dynamicScaleUp`.
    """
    mode, target, held, present = start_of(request, clusters, wanted)
    parties, rooms = clusters, _rooms(ranking, clusters)
    if mode is Mode.FRESH:
        rooms = [
            wrap32(room + ranking.held.get(i, 0)) for i, room in zip(parties, rooms, strict=True)
        ]
    elif mode is Mode.SCALE_DOWN:
        parties, rooms = [i for i, _ in present], [replicas for _, replicas in present]
    elif mode is Mode.UNCHANGED:
        return unchanged(strategy, held)
    room = wrap32(sum(rooms))
    if room < target:
        return unschedulable(
            f"Clusters available replicas {room} are not enough to schedule."
        ).within(FAILED[mode])
    if strategy is DivisionStrategy.AGGREGATED:
        prior = {i for i, replicas in held if replicas > 0}
        parties, rooms = _shortest_prefix(parties, rooms, target, prior)
    made = DivisionStep(tier=0, mode=mode, target=target, room=room, parties=parties, weights=rooms)
    if mode is Mode.SCALE_DOWN:  # of two entries of one cluster the last one counts
        weights = dict(zip(parties, rooms, strict=True))
        parties, rooms = list(weights), list(weights.values())
    ordered = rooms is ranking.rooms
    shares = dispense(target, parties, rooms, request.binding.uid, ordered=ordered)
    return Division(strategy, merge_shares(held, shares, parties), (made,))


def _rooms(ranking: Ranking, clusters: Sequence[int]) -> Sequence[int]:
    """Return what each of some clusters can take."""
    if ranking.rooms is not None and clusters is ranking.order:
        return ranking.rooms
    return [*map(ranking.capacity.column.__getitem__, clusters)]


def _shortest_prefix(
    parties: Sequence[int], rooms: Sequence[int], target: int, prior: set[int]
) -> tuple[list[int], list[int]]:
    """Return the fewest clusters with room for the target: those held first, then the roomiest.

    The sort by room is Go's unstable one.

    Source: karmada@f8fdd02 pkg/scheduler/core/division_algorithm.go `dynamicDivideReplicas` and
    assignment.go `resortAvailableClusters`.
    """
    ordered = sort_descending(list(zip(parties, rooms, strict=True)), rooms)
    if prior:
        ordered.sort(key=lambda party: party[0] not in prior)
    room = 0
    prefix: Shares = []
    for party in ordered:
        prefix.append(party)
        room = wrap32(room + party[1])
        if room >= target:
            break
    return [i for i, _ in prefix], [replicas for _, replicas in prefix]


STRATEGY = DivisionStrategy.SCORE_WEIGHT


def divide_by_score(
    request: Request,
    members: Members,
    clusters: Sequence[int],
    now: datetime,
    *,
    wanted: int,
) -> Division | Failure:
    """Divide among some clusters by their scores, keeping to what they hold as by room.

    Unlike upstream: a cluster weighs what a score says, nothing where that is below 0; its room
    is not asked. Where fewer replicas are wanted, what is held decides, and no score.

    Source: ours, after karmada@f8fdd02 pkg/scheduler/core/assignment.go `assignByDynamicStrategy`.
    """
    mode, target, held, present = start_of(request, clusters, wanted)
    if mode is Mode.UNCHANGED:
        return unchanged(STRATEGY, held)
    if mode is Mode.SCALE_DOWN:
        weights = dict(present)
    else:
        reported = scores_asked(request.placement, members, now)
        values = () if reported is None else reported.values
        weights = {i: max(0, int(values[i])) for i in clusters}
    if target and not any(weights.values()):
        name = request.placement.weighing_score
        return unschedulable(f"no cluster has a score {name} above 0").within(FAILED[mode])
    parties, counts = list(weights), list(weights.values())
    made = DivisionStep(
        tier=0, mode=mode, target=target, room=None, parties=parties, weights=counts
    )
    shares = dispense(target, parties, counts, request.binding.uid)
    return Division(STRATEGY, merge_shares(held, shares, parties), (made,))


def scores_asked(placement: Placement, members: Members, now: datetime) -> Reported | None:
    """Return the score of each cluster that a placement weighs by, `None` if it weighs by none."""
    name = placement.weighing_score
    return None if name is None else read_score(name, members.fleet.names, members.scores, now)


VOTES_LIMIT = 128  # ours: as many times 5,000 clusters take about 10 MB


def static_weights(
    rules: tuple[StaticWeight, ...], selected: Mask, members: Members
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return who takes part and the weight of each: the greatest of the rules that mean it.

    The greatest weights come first.
    Clusters without a positive weight are left out; if all are, each weighs 1.

    Source: karmada@f8fdd02 pkg/scheduler/core/util.go `getStaticWeightInfoList`.
    """
    question = rules, selected
    return remember(members.votes, question, lambda: _votes(*question, members), limit=VOTES_LIMIT)


def _votes(
    rules: Sequence[StaticWeight], selected: Mask, members: Members
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    parties: list[int] = []
    weights: list[int] = []
    remaining = selected
    for rule in sorted(rules, key=lambda rule: rule.weight, reverse=True):
        if rule.weight <= 0 or remaining == NO_CLUSTERS:
            break
        meant = Mask(members.matching(rule.target) & remaining)
        remaining = Mask(remaining & ~meant)
        parties += places_of(meant)
        weights += [rule.weight] * meant.bit_count()
    if not parties:
        parties = places_of(selected)
        weights = [1] * len(parties)
    return tuple(parties), tuple(weights)
