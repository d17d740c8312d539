"""Which of many rebalances are advised: most gain for fewest moves first, within limits."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from reconciler.audit.advice.gains import Change, Gain
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.target import Reference


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
    for one in sorted(candidates, key=lambda item: (-item.rate, -item.points, item.key)):
        if one.points <= 0:
            others.append(declined(one, WhyNot.NO_GAIN, _losses(one.gains)))
        elif one.rate < min_points:
            others.append(declined(one, WhyNot.BELOW))
        elif room is not None and one.moves > room:
            others.append(declined(one, WhyNot.BEYOND))
        else:
            chosen.append(one)
            room = None if room is None else room - one.moves
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
    for one in reversed(tuple(chosen)):
        if excess <= 0:
            return
        excess -= one.moves
        yield one


def _losses(gains: Collection[Gain]) -> str:
    """Return what is lost, as a clause."""
    return ", ".join(gain.words for gain in gains if gain.points < 0)
