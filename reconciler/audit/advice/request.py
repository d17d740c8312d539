"""What advice is asked for: goals, limits, and the scores that count."""

from dataclasses import dataclass

from reconciler.audit.advice.gains import Goal
from reconciler.dialects.scores.reports import ScoreName


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
    """

    goals: frozenset[Goal]
    max_moves: int | None = None
    min_points: int = 1
    family: ScoreFamily | None = None
    batch_moves: int | None = None
    name: str
