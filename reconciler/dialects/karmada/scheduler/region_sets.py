"""The best set of regions: upstream enumerates the sets that will do, here they are not listed.

Upstream walks through the regions in a fixed order, depth first, and notes a set as soon as it
offers enough clusters; a noted set is not extended. There are exponentially many. Whether a set is
noted depends only on how many regions and clusters it has, and its rank only on sums, so the best
one is found by dynamic programming over (next region, regions so far, clusters so far).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
    found: dict[State, _Rest] = {}
    for place in range(len(regions) - 1, -1, -1):
        found = {
            state: best
            for state in reached[place]
            if (best := _better(state, place, regions[place], limits, found)) is not None
        }
    return found.get(start)


def _better(
    state: State, place: int, region: Region, limits: _Limits, found: dict[State, _Rest]
) -> _Rest | None:
    """Return the better of taking a region and leaving it; on a tie the walk takes it first."""
    left = found.get(state)
    if state[0] >= limits.most:
        return left
    after = limits.add(state, region)
    rest = _Rest(0, 0) if limits.met(after) else found.get(after)
    if rest is None:
        return left
    taken = _Rest(rest.weight + region.weight, rest.value + region.value, place, rest)
    if left is None or (taken.weight, taken.value) >= (left.weight, left.value):
        return taken
    return left
