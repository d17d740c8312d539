"""Which prioritizers count, and how much."""

from dataclasses import dataclass

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement import (
    ADDITIVE,
    BUILT_IN,
    EXACT,
    Configuration,
    Coordinate,
    Placement,
)
from reconciler.dialects.ocm.scheduler.profile import BALANCE, PROFILE, STEADY
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.dialects.ocm.scheduler.score_addon import ScoreAddOn
from reconciler.errors import Misconfigured
from reconciler.schedule.framework import Score

DEFAULTS = (BALANCE, STEADY)  # ocm@00f84c3 schedule.go `defaultPrioritizerConfig`: weight 1 each


@dataclass(frozen=True, slots=True)
class Prioritizer:
    """A plugin with its weight; a weight of 0 is never kept."""

    name: str
    weight: int
    score: Score[Request, Members, Scores]


def prioritizers_of(placement: Placement) -> tuple[Prioritizer, ...]:
    """Return the prioritizers of a placement, in the order in which their scores first come up.

    Of one score named twice the later weight counts. A coordinate with `addOn` is never the same
    as another, since upstream compares where it is stored: two equal ones count twice, and one
    that also names a built-in score adds to it instead of replacing it.

    Raises:
        Misconfigured: The mode or a score that counts is unknown; a weight of 0 hides the latter.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/schedule.go `getWeights`,
    `mergeWeights`, `getPrioritizers`.
    """
    if placement.mode not in ("", ADDITIVE, EXACT):
        raise Misconfigured(f"incorrect prioritizer policy mode: {placement.mode}")
    names = () if placement.mode == EXACT else DEFAULTS
    defaults = [Configuration(Coordinate(BUILT_IN, name), 1) for name in names]
    weights: dict[tuple[str, str, int | None], tuple[Coordinate, int]] = {}
    for position, configuration in enumerate((*defaults, *placement.configurations)):
        coordinate = configuration.coordinate
        if coordinate is None:
            raise Misconfigured("scoreCoordinate field is required")
        stored = None if coordinate.add_on is None else position
        weights[coordinate.type, coordinate.built_in, stored] = coordinate, configuration.weight
    return tuple(
        _prioritizer(coordinate, weight) for coordinate, weight in weights.values() if weight
    )


def _prioritizer(coordinate: Coordinate, weight: int) -> Prioritizer:
    """Return the plugin of a coordinate; any type but BuiltIn is taken as AddOn."""
    if coordinate.type == BUILT_IN:
        score = PROFILE.scores.get(coordinate.built_in)
        if score is None:
            raise Misconfigured(f"incorrect builtin prioritizer: {coordinate.built_in}")
        return Prioritizer(coordinate.built_in, weight, score)
    add_on = coordinate.add_on
    if add_on is None:
        raise Misconfigured("addOn should not be empty")
    name = f"AddOn/{add_on.resource_name}/{add_on.score_name}"
    return Prioritizer(name, weight, ScoreAddOn(add_on))


def may_balance(placement: Placement) -> bool:
    """Return whether the decisions of other placements may count, without weighing any score."""
    return placement.mode != EXACT or any(
        item.coordinate is not None and item.coordinate.built_in == BALANCE
        for item in placement.configurations
    )


def is_balanced(placement: Placement) -> bool:
    """Return whether the decisions of other placements count; where it cannot be told, they do."""
    try:
        return any(item.name == BALANCE for item in prioritizers_of(placement))
    except Misconfigured:
        return True
