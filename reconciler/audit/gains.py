"""What an object gains elsewhere, goal by goal, and which of many rebalances are worth it.

These are pure rules of a before and an after. A gain is counted in points. Each part of an object
(a replica, or a cluster of an object without replicas) that is better off for good stands for 100
points; scores count as they are. A request names goals, limits, and the scores that count. Weighed
are an object's groups, its spread, crowded clusters and scores. The choice takes the most gain for
the fewest moves first, within the limits.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from reconciler.audit.fleet.usage import usage_of
from reconciler.audit.previews.placement_moves import parts_between, parts_in
from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.dialects.scores import SCORES, ScoreName, read_score, reports_of
from reconciler.dialects.view import SpreadWish, SpreadWishes
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field
from reconciler.model.world import World
from reconciler.rebalance.target import AffinityPlace, FreshPlace, PresentPlace, Reference
from reconciler.schedule.columns import listed

PART = 100
"""Points of a part that is better off: as many as a score differs by that goes from 0 to 100."""


class Goal(StrEnum):
    """What a rebalance is to bring."""

    AFFINITY = "affinity"
    SPREAD = "spread"
    ROOM = "room"
    SCORE = "score"
    COST = "cost"
    RUN = "run"


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
    gains = [gain for goal in Goal if goal in goals for gain in _RULES[goal](change)]
    if Goal.ROOM not in goals:
        gains += [gain for gain in _placed(change) if gain.points < 0]
    return tuple(sorted(gains, key=lambda gain: -gain.points))


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
        not goals.isdisjoint({Goal.SCORE, Goal.COST, Goal.RUN})
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
    relief = _change_on(change, lambda name: name in change.crowded)
    freed = -relief
    moved = min(abs(relief), change.moves) if change.moves else 0
    if freed > 0 and moved:
        names = sorted({name for name, _ in change.before if name in change.crowded})
        whose = ", ".join(f"{name} ({change.crowded[name]})" for name in names)
        yield Gain(Goal.ROOM, PART * moved, f"{_counted(moved, change.noun)} off crowded {whose}")
    elif relief > 0 and moved:
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


def _run(change: Change) -> Iterator[Gain]:
    """Count what moves: where only what cannot be scheduled does, each of it is better off."""
    if change.moves:
        words = f"{_counted(change.moves, change.noun)} that cannot be scheduled now"
        yield Gain(Goal.RUN, PART * change.moves, words)


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
    Goal.SCORE: partial(_scored, goal=Goal.SCORE),
    Goal.COST: partial(_scored, goal=Goal.COST),
    Goal.RUN: _run,
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


class WhyNot(StrEnum):
    """Why an object is not advised to be rebalanced."""

    STAYS = "stays where it is"
    CONTENT = "is well placed already"
    NO_GAIN = "gains nothing"
    BELOW = "gains too little a move"
    BEYOND = "is beyond the moves that are allowed"
    WAITS = "has to wait"
    ANYWAY = "moves anyway"
    TOGETHER = "gains nothing beside the others"
    UNDECIDED = "cannot be decided"
    UNKNOWN = "does not say what runs"
    RESTS = "rests after a move"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An object that a schedule afresh would move, and what that gains.

    Attributes:
        reference: As a rebalancer names it.
        key: What decisions about it bear.
        subject: As people call it.
        change: Where it is and where it would be.
        moves: How many parts leave a cluster for another one.
        gains: What that brings, the greatest gain first.
        points: What that comes to.
    """

    reference: Reference
    key: ObjectKey
    subject: str
    change: Change
    moves: int
    gains: tuple[Gain, ...]
    points: int

    @property
    def rate(self) -> Fraction:
        """What it gains a move; what moves nothing and gains something counts as one move."""
        return Fraction(self.points, max(1, self.moves))


class NotAdvised(NamedTuple):
    """An object that is not advised to be rebalanced, and why; `detail` is a clause, or `""`."""

    reference: Reference
    key: ObjectKey
    subject: str
    why: WhyNot
    detail: str = ""
    moves: int = 0
    points: int = 0


def choose(
    candidates: Iterable[Candidate], *, min_points: int, max_moves: int | None
) -> tuple[tuple[Candidate, ...], tuple[NotAdvised, ...]]:
    """Return the candidates that are worth it, the best first, and the others.

    One that does not fit into the moves that are left makes room for lesser ones that do.

    Args:
        candidates: In any order.
        min_points: What a move must bring at least.
        max_moves: How many parts may move in all, `None` for any number.
    """
    chosen: list[Candidate] = []
    others: list[NotAdvised] = []
    room = max_moves
    for candidate in sorted(candidates, key=lambda item: (-item.rate, -item.points, item.key)):
        if candidate.points <= 0:
            lost = ", ".join(gain.words for gain in candidate.gains if gain.points < 0)
            others.append(declined(candidate, WhyNot.NO_GAIN, lost))
        elif candidate.rate < min_points:
            others.append(declined(candidate, WhyNot.BELOW))
        elif room is not None and candidate.moves > room:
            others.append(declined(candidate, WhyNot.BEYOND))
        else:
            chosen.append(candidate)
            room = None if room is None else room - candidate.moves
    return tuple(chosen), tuple(others)


def declined(candidate: Candidate, why: WhyNot, detail: str = "") -> NotAdvised:
    """Return a candidate as one that is not advised."""
    return NotAdvised(
        reference=candidate.reference,
        key=candidate.key,
        subject=candidate.subject,
        why=why,
        detail=detail,
        moves=candidate.moves,
        points=candidate.points,
    )


def beyond(chosen: Iterable[Candidate], excess: int) -> Iterator[Candidate]:
    """Yield the last ones of those that are chosen, as many as free some moves."""
    for candidate in reversed(tuple(chosen)):
        if excess <= 0:
            return
        excess -= candidate.moves
        yield candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFamily:
    """A score of clusters that counts in every API, and whether the least of it is the best."""

    score: ScoreName
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRequest:
    """What advice is asked for.

    Attributes:
        goals: What a rebalance is to bring.
        max_moves: How many parts may move in all, `None` for any number.
        min_points: What a move must bring at least, in points.
        family: The scores that count, `None` where none do.
        batch_moves: How many parts a batch of the rebalancer may move, `None` for all at once.
        name: Of the rebalancer.
        preserves: Whether only what cannot be scheduled may move.
        rest_seconds: How long what it moves is left alone, `None` for not at all.
    """

    goals: frozenset[Goal]
    max_moves: int | None = None
    min_points: int = 1
    family: ScoreFamily | None = None
    batch_moves: int | None = None
    name: str
    preserves: bool = False
    rest_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """What counts in a world.

    Attributes:
        request: What is asked for.
        spread: By the name of an API, what says how its objects want to be spread.
        crowded: The clusters that have given away more than they have, each with of what.
        scores: Cluster to score, where a family of them is named.
    """

    request: AdviceRequest
    spread: Mapping[str, SpreadWishes]
    crowded: Mapping[str, str]
    scores: Mapping[str, int]

    def may_gain(self, key: ObjectKey, present: PresentPlace) -> bool:
        """Return whether an object could gain anything by being elsewhere.

        Args:
            key: What decisions about it bear.
            present: Where it is.
        """
        goals, dialect = self.request.goals, dialect_of(key.group)
        wished = dialect is not None and Goal.SPREAD in goals
        spread = self.spread[dialect.name](key) if dialect is not None and wished else ()
        return may_gain(present, goals, spread=spread, crowded=self.crowded)

    def change(self, key: ObjectKey, place: FreshPlace) -> Change:
        """Return an object in two places, with what is to be said of them.

        Args:
            key: What decisions about it bear.
            place: Where it is and where it would be.
        """
        dialect = dialect_of(key.group)
        if dialect is None or place.before == place.after:
            return Change(before=place.before, after=place.after, lacks=place.problem)
        family = self.request.family
        return Change(
            before=place.before,
            after=place.after,
            lacks=place.problem,
            groups=place.groups,
            spread=self.spread[dialect.name](key),
            crowded=self.crowded,
            scores=self.scores,
            called="" if family is None else str(family.score),
            lower_is_better=family is not None and family.lower_is_better,
        )


def weighing_in(world: World, now: datetime, request: AdviceRequest) -> Weighing:
    """Return what counts in a world at a moment."""
    spread = {dialect.name: dialect.view().world.spread(world) for dialect in DIALECTS}
    family = request.family
    return Weighing(
        request=request,
        spread=spread,
        crowded=_crowded(world) if Goal.ROOM in request.goals else {},
        scores={} if family is None else scores_of(world, now, family.score),
    )


def _crowded(world: World) -> dict[str, str]:
    """Return the clusters that have given away more than they have, whatever API has them."""
    return {one.key.name: ", ".join(sorted(one.over)) for one in usage_of(world) if one.over}


def scores_of(world: World, now: datetime, name: ScoreName) -> dict[str, int]:
    """Return a score by cluster, of those that are reported and have not run out."""
    reports = reports_of(world.of_kind(*SCORES))
    clusters = [ClusterName(one) for one, resource in sorted(reports) if resource == name.resource]
    readings = read_score(name, clusters, reports, now)
    silent = readings.missing | readings.expired
    values = enumerate(listed(readings.values))
    return {str(clusters[at]): value for at, value in values if not silent >> at & 1}
