"""Limited moves: which targets are let go now, how many replicas each, and when the next ones are.

Without a limit all go at once. With one, a batch moves at most so many replicas of all targets
together; the next one follows after the interval, or as soon as what moved is reported healthy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, span
from reconciler.rebalance.rebalancer_spec import Rebalancer
from reconciler.rebalance.target import Reference, Target


@dataclass(frozen=True, slots=True)
class Demand:
    """What is demanded of one target.

    Attributes:
        at: Moment of the trigger.
        budget: How many replicas may move in this pass, `None` for all.
    """

    at: datetime
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is let go in one pass.

    Attributes:
        triggers: Target to demand.
        done: The references that need nothing more after this.
        at: When the last batch was let go, this one or an earlier one; `None` if there was none.
        moved: Replicas moved by all batches so far.
        remaining: Replicas that are left for later batches.
        until: When the next batch may go by time alone, `None` if there is nothing to wait for.
    """

    triggers: Mapping[ObjectKey, Demand] = field(default_factory=dict)
    done: frozenset[Reference] = frozenset()
    at: datetime | None = None
    moved: int = 0
    remaining: int = 0
    until: datetime | None = None


def open_batch(
    rebalancer: Rebalancer,
    found: Mapping[Reference, Target | None],
    moment: datetime,
    now: datetime,
) -> Batch:
    """Let go what may go now.

    Args:
        rebalancer: Its limits, and what earlier batches did.
        found: The targets that are still to be dealt with, in the order of their references.
        moment: Of the run: what its triggers are dated with.
        now: Moment of the pass.
    """
    ready = {ref: t for ref, t in found.items() if t is not None and not t.waiting}
    if rebalancer.max_moves is None:
        triggers = {t.key: Demand(moment) for t in ready.values() if _is_news(t, moment)}
        return Batch(triggers=triggers, done=frozenset(ready))
    return _limited(rebalancer, rebalancer.max_moves, ready, moment, now)


def _is_news(target: Target, moment: datetime) -> bool:
    """Say whether a trigger of this moment is later than the one that a target carries."""
    return target.triggered_at is None or target.triggered_at < moment


def _limited(
    rebalancer: Rebalancer,
    limit: int,
    ready: Mapping[Reference, Target],
    moment: datetime,
    now: datetime,
) -> Batch:
    """Let go at most `limit` replicas, if the last batch is over."""
    status = rebalancer.status
    known_at, moved = status.batch_at, status.moved
    if known_at is not None and known_at < moment:  # of an earlier run
        known_at, moved = None, 0
    interval = span(seconds=rebalancer.interval_seconds)
    opens_at = None if known_at is None else add(known_at, interval)
    triggers: dict[ObjectKey, Demand] = {}
    done: set[Reference] = set()
    left, remaining = limit if _is_over(ready, known_at, opens_at, now) else 0, 0
    for reference, target in ready.items():
        moves = target.moves(moment)
        share = _share(target, moves, left, limit)
        if share is None:
            remaining += moves
            continue
        triggers[target.key] = Demand(moment, budget=share if share < moves else None)
        if share == moves:
            done.add(reference)
        remaining += moves - share
        moved += share
        left = max(0, left - share)
    at = now if triggers else known_at
    waits = at is not None and len(done) < len(ready)
    opens_at = add(at, interval) if waits and at is not None else None
    return Batch(
        triggers=triggers,
        done=frozenset(done),
        at=at,
        moved=moved,
        remaining=remaining,
        until=opens_at if opens_at is not None and opens_at > now else None,
    )


def _is_over(
    ready: Mapping[Reference, Target],
    known_at: datetime | None,
    opens_at: datetime | None,
    now: datetime,
) -> bool:
    """Say whether the last batch is over: its time is, or all that it moved is healthy."""
    if known_at is None or opens_at is None or now >= opens_at:
        return True
    return now > known_at and all(target.arrived for target in ready.values())


def _share(target: Target, moves: int, left: int, limit: int) -> int | None:
    """Return how many replicas of a target go now, `None` if it has to wait.

    What cannot be divided goes as a whole: if there is room for it, or if it is the first of a
    batch, since it would never fit otherwise.
    """
    if moves == 0:
        return 0
    if not left:
        return None
    if target.divisible:
        return min(left, moves)
    return moves if moves <= left or left == limit else None
