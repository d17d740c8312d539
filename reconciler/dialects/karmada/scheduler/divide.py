"""Division of replicas among the selected clusters."""

from collections.abc import Sequence
from datetime import datetime
from itertools import repeat

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import Placement, ReplicaScheduling
from reconciler.dialects.karmada.scheduler.dispense import Shares, dispense
from reconciler.dialects.karmada.scheduler.divide_by_score import divide_by_score
from reconciler.dialects.karmada.scheduler.division import (
    FAILED,
    Division,
    DivisionStep,
    DivisionStrategy,
    Mode,
    merge_shares,
    start_of,
    strategy_of,
    unchanged,
)
from reconciler.dialects.karmada.scheduler.estimate import wrap32
from reconciler.dialects.karmada.scheduler.failure import Failure, scheduler_error, unschedulable
from reconciler.dialects.karmada.scheduler.rank import Ranking
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.dialects.karmada.scheduler.static_weights import static_weights
from reconciler.schedule.framework import mask_of
from reconciler.schedule.gosort import sort_descending


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
        found = _divide_tier(strategy, request, members, ranking, clusters, now, wanted=share)
        if isinstance(found, Failure):
            return found
        shares += found.shares
        steps += [step._replace(tier=number) for step in found.steps]
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
    kept: Shares = []
    for party in ordered:
        kept.append(party)
        room = wrap32(room + party[1])
        if room >= target:
            break
    return [i for i, _ in kept], [replicas for _, replicas in kept]
