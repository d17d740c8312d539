"""Limited moves: which targets are let go now, how many replicas each, and when the next ones are.

Without a limit all go at once. With one, a batch moves at most so many replicas of all targets
together; the next one follows after the interval, or as soon as what moved is reported healthy.
What is let go is done only once the pass has scheduled it afresh; else it is let go again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, span
from reconciler.rebalance.joined_demands import TargetDemand
from reconciler.rebalance.rebalancer_spec import Rebalancer
from reconciler.rebalance.target import Reference, Rescheduled, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one target gets in a pass.

    Attributes:
        key: The target.
        demand: What is demanded of it, `None` where it carries that trigger already.
        moves: Replicas that it moves now.
        rest: Replicas that it moves later.
    """

    key: ObjectKey
    demand: TargetDemand | None
    moves: int = 0
    rest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is let go in one pass.

    Attributes:
        shares: What each target gets that is let go.
        known_at: When the batch before was let go, `None` if there was none.
        moved: Replicas moved by the batches before.
        waiting: Target to replicas, for the targets that wait for a later batch.
        interval: Between batches, `None` without a limit.
    """

    shares: Mapping[Reference, Share] = field(default_factory=dict)
    known_at: datetime | None = None
    moved: int = 0
    waiting: Mapping[ObjectKey, int] = field(default_factory=dict)
    interval: timedelta | None = None

    @property
    def triggers(self) -> dict[ObjectKey, TargetDemand]:
        """Target to demand."""
        shares = self.shares.values()
        return {share.key: share.demand for share in shares if share.demand is not None}

    @property
    def allowed(self) -> dict[ObjectKey, int]:
        """Target to the replicas that may move now, for the targets that have more to move."""
        parted = {share.key: share.moves for share in self.shares.values() if share.rest}
        return dict.fromkeys(self.waiting, 0) | parted


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A batch after the pass.

    Attributes:
        begun: The references of which something was scheduled in this pass.
        done: Those of them that need nothing more.
        at: When the last batch was let go, this one or an earlier one; `None` if there was none.
        moved: Replicas moved by all batches so far.
        remaining: Replicas that are left for later batches.
        until: When the next batch may go by time alone, `None` if there is nothing to wait for.
    """

    begun: frozenset[Reference]
    done: frozenset[Reference]
    at: datetime | None
    moved: int
    remaining: int
    until: datetime | None


def open_batch(
    rebalancer: Rebalancer,
    found: Mapping[Reference, Target | None],
    run_at: datetime,
    date: datetime,
    now: datetime,
) -> Batch:
    """Let go what may go now.

    Args:
        rebalancer: Its limits, and what earlier batches did.
        found: The targets that are still to be dealt with, in the order of their references.
        run_at: Moment of the run.
        date: What the triggers of this pass are dated with.
        now: Moment of the pass.
    """
    ready = {ref: t for ref, t in found.items() if t is not None and not t.waits_for}
    if rebalancer.max_moves is not None:
        return _limited(rebalancer, rebalancer.max_moves, ready, run_at, date, now)
    shares = {
        ref: Share(key=t.key, demand=TargetDemand(date) if _is_news(t, date) else None)
        for ref, t in ready.items()
    }
    return Batch(shares=shares)


def close_batch(batch: Batch, rescheduled: Rescheduled, now: datetime) -> Closed:
    """Return what became of a batch.

    What is left of a target counts, not what was let go of it: others may have demanded more.

    Args:
        batch: What was let go.
        rescheduled: The targets whose demand the pass met.
        now: Moment of the pass.
    """
    left = {
        reference: 0 if share.demand is None else rescheduled[share.key].left
        for reference, share in batch.shares.items()
        if share.demand is None or share.key in rescheduled
    }
    done = frozenset(reference for reference, count in left.items() if not count)
    wanted = {ref: share.moves + share.rest for ref, share in batch.shares.items()}
    at = now if batch.interval is not None and left else batch.known_at
    more = bool(batch.waiting) or len(done) < len(batch.shares)
    opens_at = None if at is None or batch.interval is None else add(at, batch.interval)
    return Closed(
        begun=frozenset(left),
        done=done,
        at=at,
        moved=batch.moved + sum(max(0, wanted[ref] - count) for ref, count in left.items()),
        remaining=sum(batch.waiting.values())
        + sum(left.get(ref, count) for ref, count in wanted.items()),
        until=opens_at if more and opens_at is not None and opens_at > now else None,
    )


def _is_news(target: Target, moment: datetime) -> bool:
    """Return whether a trigger is later than the one that a target carries, or undoes its limit."""
    carried = target.triggered_at
    return carried is None or carried < moment or target.left() is not None


def _limited(
    rebalancer: Rebalancer,
    limit: int,
    ready: Mapping[Reference, Target],
    run_at: datetime,
    date: datetime,
    now: datetime,
) -> Batch:
    """Let go at most `limit` replicas, if the last batch is over."""
    status = rebalancer.status
    known_at, moved = status.batch_at, status.moved
    if known_at is not None and known_at < run_at:  # of an earlier run
        known_at, moved = None, 0
    interval = span(seconds=rebalancer.interval_seconds)
    shares: dict[Reference, Share] = {}
    room = limit if _is_over(ready, known_at, interval, now) else 0
    waiting: dict[ObjectKey, int] = {}
    for reference, target in ready.items():
        demand, moves = _asked(target, run_at, date)
        share = _share(target, moves, room, limit)
        if share is None:
            waiting[target.key] = moves
            continue
        if share < moves:
            demand = TargetDemand(demand.at, budget=share, fresh=demand.fresh)
        shares[reference] = Share(key=target.key, demand=demand, moves=share, rest=moves - share)
        room = max(0, room - share)
    return Batch(shares=shares, known_at=known_at, moved=moved, waiting=waiting, interval=interval)


def _asked(target: Target, run_at: datetime, date: datetime) -> tuple[TargetDemand, int]:
    """Return what is asked of a target, and how many replicas that moves in all.

    It goes on to the goal of an earlier batch of this run, and keeps the date of that one. Where
    there is none, or where something else rescheduled the target since, it is scheduled afresh.
    """
    at = target.triggered_at
    left = target.left() if at is not None and at >= run_at else None
    if at is None or left is None:
        return TargetDemand(date), target.moves()
    return TargetDemand(at, fresh=False), left


def _is_over(
    ready: Mapping[Reference, Target],
    known_at: datetime | None,
    interval: timedelta,
    now: datetime,
) -> bool:
    """Return whether the last batch is over: its time is, or all that it moved is healthy."""
    if known_at is None or now >= add(known_at, interval):
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
