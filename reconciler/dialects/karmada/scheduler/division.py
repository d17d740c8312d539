"""What a division of replicas is: its strategy, how it begins, its steps and its result."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from reconciler.dialects.karmada.api.placement import (
    AGGREGATED,
    DIVIDED,
    WEIGHTED,
    Placement,
)
from reconciler.dialects.karmada.scheduler.dispense import Shares
from reconciler.dialects.karmada.scheduler.estimate import wrap32
from reconciler.dialects.karmada.scheduler.request import Request


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
    left, shares = dict(held), dict(added)
    for position in left.keys() & set(parties):
        shares[position] = shares.get(position, 0) + left.pop(position)
    return sorted(shares.items()) + list(left.items())
