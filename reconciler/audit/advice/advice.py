"""Advice as a value: what to rebalance, what that moves, and what is not advised."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.advice.choice import NotAdvised
from reconciler.audit.advice.gains import Gain, points_of
from reconciler.audit.advice.request import AdviceRequest
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.target import Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedMove:
    """An object that the advice moves.

    Attributes:
        key: What decisions about it bear.
        reference: As the rebalancer names it, `None` for what goes along with others.
        subject: As people call it.
        before: Where it is.
        after: Where it is once the rebalancer is done.
        moves: How many parts leave a cluster for another one.
        gains: What that brings, the greatest gain first.
    """

    key: ObjectKey
    reference: Reference | None
    subject: str
    before: Placed
    after: Placed
    moves: int
    gains: tuple[Gain, ...] = ()

    @property
    def points(self) -> int:
        """What it gains in all."""
        return points_of(self.gains)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What is advised.

    Attributes:
        request: What was asked for.
        revision: Full hex id of the commit that it holds for.
        now: Moment of its first pass.
        moves: What moves once it is merged, the best first, then what goes along.
        others: What is not advised, sorted by key.
        key: Of the rebalancer.
        body: The rebalancer, `None` where nothing is advised.
        passes: How many passes it takes, 0 where nothing is advised.
        finished: Whether it is done after as many passes as are computed.
    """

    request: AdviceRequest
    revision: str
    now: datetime
    moves: tuple[AdvisedMove, ...]
    others: tuple[NotAdvised, ...]
    key: ObjectKey
    body: Body | None
    passes: int = 0
    finished: bool = True

    @property
    def moved(self) -> int:
        """How many parts move in all."""
        return sum(one.moves for one in self.moves)
