"""What all who are pending demand of one target in one pass, as one demand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TargetDemand:
    """What is demanded of one target.

    Attributes:
        at: Moment of the trigger.
        budget: How many replicas may move in this pass, `None` for all.
        fresh: Whether it is scheduled afresh; if not, it goes on to the goal of an earlier batch.
    """

    at: datetime
    budget: int | None = None
    fresh: bool = True


@dataclass(frozen=True, slots=True)
class JoinedDemand:
    """What counts of several demands, and who brings that about, sorted.

    Those that `by` names suffice each, or, where none does, all together. Whoever asks for less is
    not among them.
    """

    demand: TargetDemand
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class OverriddenLimit:
    """A limit that does not hold, since somebody else demands more of the same target.

    Attributes:
        limited: Whose limit it is.
        allowed: How many replicas of the target would have moved in this pass by it.
        by: Who demands more, sorted.
    """

    limited: str
    allowed: int
    by: tuple[str, ...]


def join_demands(demands: Mapping[str, TargetDemand]) -> JoinedDemand:
    """Return several demands on one target as one; there is at least one of them.

    The latest moment counts; it is scheduled afresh if anybody wants that; without a budget if
    anybody has none, else with the largest.

    Args:
        demands: By the name of who demands.
    """
    budgets = [one.budget for one in demands.values() if one.budget is not None]
    joined = TargetDemand(
        at=max(one.at for one in demands.values()),
        budget=None if len(budgets) < len(demands) else max(budgets),
        fresh=any(one.fresh for one in demands.values()),
    )
    enough = [who for who, one in demands.items() if _suffices(one, joined)]
    parts = [
        who
        for who, one in demands.items()
        if one.budget == joined.budget or (one.fresh and joined.fresh)
    ]
    return JoinedDemand(joined, tuple(sorted(enough or parts)))


def _suffices(one: TargetDemand, joined: TargetDemand) -> bool:
    """Return whether one demand alone moves what all of them move."""
    return (one.budget, one.fresh) == (joined.budget, joined.fresh)


def overridden_limits(
    joined: JoinedDemand, allowed: Mapping[str, int]
) -> Iterator[OverriddenLimit]:
    """Yield the limits on a target that do not hold in this pass.

    Args:
        joined: What all demand of the target.
        allowed: By the name of who has a limit, how many replicas it lets go now, where it has more
            to move.
    """
    budget = joined.demand.budget
    for who, count in sorted(allowed.items()):
        if who not in joined.by and (budget is None or budget > count):
            yield OverriddenLimit(who, count, joined.by)
