"""Division of replicas among the selected clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import repeat

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import (
    AGGREGATED,
    DIVIDED,
    WEIGHTED,
    Placement,
    ReplicaScheduling,
)
from reconciler.dialects.karmada.scheduler.dispense import Shares, dispense
from reconciler.dialects.karmada.scheduler.estimate import wrap32
from reconciler.dialects.karmada.scheduler.failure import Failure, scheduler_error, unschedulable
from reconciler.dialects.karmada.scheduler.rank import Ranking
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.dialects.karmada.scheduler.static_weights import static_weights
from reconciler.schedule.framework import mask_of
from reconciler.schedule.gosort import sort_descending


class DivisionStrategy(StrEnum):
    """How replicas are divided, by upstream's names; the first is ours."""

    NON_WORKLOAD = "NonWorkload"
    DUPLICATED = "Duplicated"
    STATIC_WEIGHT = "StaticWeight"
    DYNAMIC_WEIGHT = "DynamicWeight"
    AGGREGATED = "Aggregated"


class Mode(StrEnum):
    """What the present result has to do with the next one."""

    FRESH = "Fresh"
    SCALE_UP = "ScaleUp"
    SCALE_DOWN = "ScaleDown"
    UNCHANGED = "Unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class DivisionStep:
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


@dataclass(frozen=True, slots=True)
class Division:
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
    dynamic = scheduling.weights is not None and scheduling.weights.dynamic_weight
    return DivisionStrategy.DYNAMIC_WEIGHT if dynamic else DivisionStrategy.STATIC_WEIGHT


def divide(
    request: Request,
    members: Members,
    ranking: Ranking,
    selected: Sequence[int],
    *,
    propagate_empty: bool = False,
) -> Division | Failure:
    """Divide the replicas of a binding among the selected clusters.

    Args:
        request: The binding and its strategy.
        members: Answers which cluster a static weight means.
        ranking: What each cluster can take, and what it holds.
        selected: Positions, in the order of selection.
        propagate_empty: Append the selected clusters that got nothing, with 0 replicas.

    Source: karmada@f8fdd02 pkg/scheduler/core/common.go `AssignReplicas`; the flag is
    `--enable-empty-workload-propagation`.
    """
    if not selected:
        return scheduler_error("no clusters available to schedule")
    binding = request.binding
    if (binding.replicas == 0 and binding.requirements is None) or binding.components > 1:
        return Division(DivisionStrategy.NON_WORKLOAD, [(position, 0) for position in selected])
    division = _divide(request, members, ranking, selected)
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
    request: Request, members: Members, ranking: Ranking, selected: Sequence[int]
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
        return _divide_tier(strategy, request, members, ranking, selected, wanted=wanted)
    shares: Shares = []
    steps: list[DivisionStep] = []
    for number, tier in enumerate(ranking.tiers):
        clusters = [position for position in selected if tier >> position & 1]
        share = min(wanted, sum(map(ranking.available, clusters)))
        if wanted <= 0:
            break
        if not clusters:
            continue
        found = _divide_tier(strategy, request, members, ranking, clusters, wanted=wrap32(share))
        if isinstance(found, Failure):
            return found
        shares += found.shares
        steps += [replace(step, tier=number) for step in found.steps]
        wanted = wrap32(wanted - wrap32(share))
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

    Source: karmada@f8fdd02 pkg/scheduler/core/assignment.go `assignByDynamicStrategy` and
    division_algorithm.go `dynamicFreshScale`, `dynamicScaleDown`, `dynamicScaleUp`.
    """
    among = set(clusters) if request.held else ()
    held = [share for share in request.held if share[0] in among]
    assigned = wrap32(sum(replicas for _, replicas in held))
    parties, rooms = clusters, _rooms(ranking, clusters)
    if request.binding.reschedule_required:
        rooms = [
            wrap32(room + ranking.held.get(i, 0)) for i, room in zip(parties, rooms, strict=True)
        ]
        mode, target, held, step = Mode.FRESH, wanted, [], "failed to do fresh scale"
    elif assigned > wanted:
        parties, rooms = [i for i, _ in held], [replicas for _, replicas in held]
        mode, target, held, step = Mode.SCALE_DOWN, wanted, [], "failed to scale down"
    elif assigned < wanted:
        mode, target, step = Mode.SCALE_UP, wanted - assigned, "failed to scale up"
    else:
        unchanged = DivisionStep(tier=0, mode=Mode.UNCHANGED, target=0, room=0)
        return Division(strategy, held, (unchanged,))
    room = wrap32(sum(rooms))
    if room < target:
        return unschedulable(
            f"Clusters available replicas {room} are not enough to schedule."
        ).within(step)
    if strategy is DivisionStrategy.AGGREGATED:
        prior = {i for i, replicas in held if replicas > 0}
        parties, rooms = _shortest_prefix(parties, rooms, target, prior)
    made = DivisionStep(tier=0, mode=mode, target=target, room=room, parties=parties, weights=rooms)
    if mode is Mode.SCALE_DOWN:  # of two entries of one cluster the last one counts
        weights = dict(zip(parties, rooms, strict=True))
        parties, rooms = list(weights), list(weights.values())
    ordered = rooms is ranking.rooms
    shares = dispense(target, parties, rooms, request.binding.uid, ordered=ordered)
    return Division(strategy, _merge(held, shares, parties), (made,))


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


def _merge(held: Shares, added: Shares, parties: Sequence[int]) -> Shares:
    """Add to what is held: first the clusters that took part, by name, then the others.

    Unlike upstream: the others keep the order of spec.clusters; upstream's is that of a Go map.

    Source: karmada@f8fdd02 pkg/util/binding.go `MergeTargetClusters`.
    """
    if not held:
        return added
    left, shares = dict(held), dict(added)
    for position in left.keys() & set(parties):
        shares[position] = shares.get(position, 0) + left.pop(position)
    return sorted(shares.items()) + list(left.items())
