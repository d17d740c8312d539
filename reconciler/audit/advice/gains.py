"""What it gains to have an object elsewhere, by goal: pure rules of a before and an after.

A gain is counted in points. A part of an object, a replica or a cluster of what has none, that is
better off for good stands for 100 points; scores count as they are.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from reconciler.audit.previews.placement_moves import (
    parts_between,
    parts_in,
)
from reconciler.dialects.placement_wishes import SpreadWish
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName
from reconciler.rebalance.target import AffinityPlace, PresentPlace

PART = 100
"""Points of a part that is better off: as many as a score differs by that goes from 0 to 100."""


class Goal(StrEnum):
    """What a rebalance is to bring."""

    AFFINITY = "affinity"
    SPREAD = "spread"
    ROOM = "room"
    SCORE = "score"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Gain:
    """What a change of place brings by one goal; less than 0 points is a loss."""

    goal: Goal
    points: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An object in two places, and what there is to be said of both.

    Attributes:
        before: Where it is.
        after: Where it would be.
        lacks: Why it has fewer clusters than it asks for where it would be, `""` if it has all.
        groups: The affinity groups that place it before and after, `None` where it has none.
        spread: How it wants to be spread.
        crowded: The clusters that have given away more than they have, each with of what.
        scores: Cluster to score, where scores count.
        called: What these scores are called.
        lower_is_better: Whether the lesser score is the better one.
    """

    before: Placed
    after: Placed
    lacks: str = ""
    groups: tuple[AffinityPlace | None, AffinityPlace | None] = (None, None)
    spread: tuple[SpreadWish, ...] = ()
    crowded: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, int] = field(default_factory=dict)
    called: str = ""
    lower_is_better: bool = False

    @property
    def moves(self) -> int:
        """How many parts leave a cluster for another one."""
        return min(parts_between(self.before, self.after))

    @property
    def noun(self) -> str:
        """What its parts are."""
        counted = any(count for _, count in (*self.before, *self.after))
        return "replica" if counted else "cluster"


def gains_of(change: Change, goals: Collection[Goal]) -> tuple[Gain, ...]:
    """Return what a change brings by some goals, the greatest gain first.

    That fewer parts are placed is a loss by whatever goal.
    """
    found = [gain for goal in Goal if goal in goals for gain in _RULES[goal](change)]
    if Goal.ROOM not in goals:
        found += [gain for gain in _placed(change) if gain.points < 0]
    return tuple(sorted(found, key=lambda gain: -gain.points))


def may_gain(
    present: PresentPlace,
    goals: AbstractSet[Goal],
    *,
    spread: tuple[SpreadWish, ...],
    crowded: Collection[str],
) -> bool:
    """Return whether any other place could gain something by some goals; else none does.

    Args:
        present: Where it is.
        goals: Those that count.
        spread: How it wants to be spread.
        crowded: The clusters that have given away more than they have.
    """
    names = [str(name) for name, _ in present.placed]
    away = present.group is not None and present.group.place > 0
    return (
        not goals.isdisjoint({Goal.SCORE, Goal.COST})
        or (Goal.AFFINITY in goals and away)
        or (Goal.SPREAD in goals and any(wish.gap(names) for wish in spread))
        or (Goal.ROOM in goals and (not present.whole or any(name in crowded for name in names)))
    )


def points_of(gains: Collection[Gain]) -> int:
    """Return what gains and losses come to."""
    return sum(gain.points for gain in gains)


def _affinity(change: Change) -> Iterator[Gain]:
    """Compare the affinity groups: the earlier one is the better, whatever it is."""
    before, after = change.groups
    if before is None or after is None or before.place == after.place:
        return
    better = before.place > after.place
    parts = _parts(change.after)
    where = "its first affinity group" if after.place == 0 else "an earlier affinity group"
    words = f"back in {where} ({after.name})" if better else f"in the later group {after.name}"
    yield Gain(Goal.AFFINITY, PART * parts if better else -PART * parts, words)


def _spread(change: Change) -> Iterator[Gain]:
    """Compare how far either place is from each wish."""
    before = [str(name) for name, _ in change.before]
    after = [str(name) for name, _ in change.after]
    for wish in change.spread:
        mended = wish.gap(before) - wish.gap(after)
        if not mended:
            continue
        if wish.skew is not None and wish.skew_of(before) != wish.skew_of(after):
            words = f"{wish.name} skew {wish.skew_of(after)}, not {wish.skew_of(before)}"
        else:
            words = f"in {_counted(wish.domains(after), wish.name)}, not {wish.domains(before)}"
        yield Gain(Goal.SPREAD, PART * mended, words)


def _room(change: Change) -> Iterator[Gain]:
    """Compare how much is placed, and how much of it where there is no room."""
    yield from _placed(change)
    left = _change_on(change, lambda name: name in change.crowded)
    freed = -left
    moved = min(abs(left), change.moves) if change.moves else 0
    if freed > 0 and moved:
        names = sorted({name for name, _ in change.before if name in change.crowded})
        whose = ", ".join(f"{name} ({change.crowded[name]})" for name in names)
        yield Gain(Goal.ROOM, PART * moved, f"{_counted(moved, change.noun)} off crowded {whose}")
    elif left > 0 and moved:
        yield Gain(Goal.ROOM, -PART * moved, f"{_counted(moved, change.noun)} onto crowded")


def _placed(change: Change) -> Iterator[Gain]:
    """Compare how many parts are placed."""
    came, went = parts_between(change.before, change.after)
    if came > went:
        words = f"{_counted(came - went, change.noun)} more placed"
        yield Gain(Goal.ROOM, PART * (came - went), words)
    elif went > came:
        lack = f": {change.lacks}" if change.lacks else ""
        words = f"{_counted(went - came, change.noun)} fewer placed{lack}"
        yield Gain(Goal.ROOM, -PART * (went - came), words)


def _score(change: Change) -> Iterator[Gain]:
    yield from _scored(change, Goal.SCORE)


def _cost(change: Change) -> Iterator[Gain]:
    yield from _scored(change, Goal.COST)


def _scored(change: Change, goal: Goal) -> Iterator[Gain]:
    """Compare the scores of a part on the average, where there is any on either side."""
    before, after = _average(change.before, change.scores), _average(change.after, change.scores)
    if not change.scores or before is None or after is None or before == after:
        return
    more = after - before
    points = round((-more if change.lower_is_better else more) * _parts(change.after))
    words = f"{change.called} {_shown(after)}, not {_shown(before)}"
    yield Gain(goal, points, words)


_RULES: Mapping[Goal, Callable[[Change], Iterator[Gain]]] = {
    Goal.AFFINITY: _affinity,
    Goal.SPREAD: _spread,
    Goal.ROOM: _room,
    Goal.SCORE: _score,
    Goal.COST: _cost,
}


def _parts(placed: Placed) -> int:
    return sum(parts_in(count) for _, count in placed)


def _change_on(change: Change, is_meant: Callable[[ClusterName], bool]) -> int:
    """Return how many parts more there are on some clusters."""
    before = sum(parts_in(count) for name, count in change.before if is_meant(name))
    return sum(parts_in(count) for name, count in change.after if is_meant(name)) - before


def _average(placed: Placed, scores: Mapping[str, int]) -> Fraction | None:
    """Return the score of a part on the average, 0 for a cluster without one."""
    parts = _parts(placed)
    if not parts:
        return None
    return Fraction(sum(parts_in(n) * scores.get(name, 0) for name, n in placed), parts)


def _shown(average: Fraction) -> str:
    return str(average) if average.denominator == 1 else f"{float(average):.1f}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
