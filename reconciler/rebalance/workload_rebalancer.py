"""WorkloadRebalancer: which targets it triggers, its status, and when it is removed.

Without a limit all targets go at once. With one, a batch moves at most so many replicas of all
targets together; the next one follows after the interval, or as soon as what moved is reported
healthy. What is let go is done only once the pass has scheduled it afresh; else it is let go again.

Where it is made before anything breaks, the limit is how many replicas run beside others at a time.
A target with a step under way goes on by itself, whoever asked for it; it is done once its goal is
in force, and has failed for good once a step gave something back for its deadline.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import add, earliest, span
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache
from reconciler.model.world import World
from reconciler.rebalance.rebalancer_files import (
    NOT_FOUND,
    UNDECIDED,
    Observed,
    Progress,
    Rebalancer,
    TargetDemand,
    WorkloadResult,
    encode,
    pending_in_batches,
)
from reconciler.rebalance.schedule_trigger import (
    REMOVED,
    Waiting,
    decode_trigger_status,
    due_run,
    is_given_up,
    next_run,
    waiting,
)
from reconciler.rebalance.surge import MakeBeforeBreak
from reconciler.rebalance.target import (
    REBALANCER,
    TRIGGER,
    Reference,
    Rescheduled,
    Target,
    Targets,
    TargetSelection,
    rest_of,
)

NO_LIMIT = 2**31 - 1
NO_INTERVAL = timedelta(0)


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
        going: The targets with a step under way.
    """

    shares: Mapping[Reference, Share] = field(default_factory=dict)
    going: Mapping[Reference, Target] = field(default_factory=dict)
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
        done: The references that need nothing more.
        given_up: Those that never will be done, and why.
        at: When the last batch was let go, this one or an earlier one; `None` if there was none.
        moved: Replicas moved by all batches so far.
        remaining: Replicas that are left for later batches.
        until: When the next batch may go by time alone, `None` if there is nothing to wait for.
    """

    begun: frozenset[Reference]
    done: frozenset[Reference]
    given_up: Mapping[Reference, str]
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
    going = {ref: t for ref, t in found.items() if t is not None and _is_going(t, run_at)}
    rest = {ref: t for ref, t in found.items() if ref not in going}
    ready = {ref: t for ref, t in rest.items() if t is not None and not t.waits_for}
    if rebalancer.is_limited:
        return _limited(rebalancer, ready, going, run_at, date, now)
    demand = TargetDemand(date, preserves=rebalancer.preserves)
    shares = {
        ref: Share(key=t.key, demand=demand if _is_news(t, date) else None)
        for ref, t in ready.items()
    }
    return Batch(shares=shares, going=going)


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
    acted = {ref: rescheduled[t.key] for ref, t in batch.going.items() if t.key in rescheduled}
    heard = acted | {
        ref: rescheduled[one.key] for ref, one in batch.shares.items() if one.key in rescheduled
    }
    given_up = {reference: met.given_up for reference, met in heard.items() if met.given_up}
    going = {
        reference: acted[reference].left if reference in acted else target.left() or 0
        for reference, target in batch.going.items()
        if reference not in given_up
    }
    ended = [reference for reference in acted if not going.get(reference, 1)]
    done = frozenset((*(reference for reference, count in left.items() if not count), *ended))
    wanted = {ref: share.moves + share.rest for ref, share in batch.shares.items()}
    at = now if batch.interval is not None and left else batch.known_at
    more = bool(batch.waiting) or len(done) < len(batch.shares)
    opens_at = None if at is None or batch.interval is None else add(at, batch.interval)
    return Closed(
        begun=frozenset(left),
        done=done,
        given_up=given_up,
        at=at,
        moved=batch.moved
        + sum(max(0, wanted[ref] - count) for ref, count in left.items())
        + sum(met.taken for met in acted.values()),
        remaining=sum(batch.waiting.values())
        + sum(going.values())
        + sum(left.get(ref, count) for ref, count in wanted.items()),
        until=opens_at if more and opens_at is not None and opens_at > now else None,
    )


def _is_news(target: Target, moment: datetime) -> bool:
    """Return whether a trigger is later than the one that a target carries, or undoes its limit."""
    carried = target.triggered_at
    return carried is None or carried < moment or target.left() is not None


def _is_going(target: Target, run_at: datetime) -> bool:
    """Return whether a target has a step under way that counts for a run."""
    at = target.triggered_at
    return target.surge is not None and at is not None and at >= run_at


def _limited(
    rebalancer: Rebalancer,
    ready: Mapping[Reference, Target],
    going: Mapping[Reference, Target],
    run_at: datetime,
    date: datetime,
    now: datetime,
) -> Batch:
    """Let go at most as many replicas as the limit says, if the last batch is over."""
    status = rebalancer.status
    limit = NO_LIMIT if rebalancer.max_moves is None else rebalancer.max_moves
    known_at, moved = status.batch_at, status.moved
    if known_at is not None and known_at < run_at:  # of an earlier run
        known_at, moved = None, 0
    if rebalancer.make_before_break is None:
        interval = span(seconds=rebalancer.interval_seconds)
        room = limit if _is_over(ready, known_at, interval, now) else 0
    else:
        interval = NO_INTERVAL
        beside = (one.surge.size for one in going.values() if one.surge is not None)
        room = max(0, limit - sum(beside))
    shares: dict[Reference, Share] = {}
    waiting: dict[ObjectKey, int] = {}
    steps = rebalancer.make_before_break
    leaving = frozenset() if steps is None else steps.leaving
    for reference, target in ready.items():
        demand, moves = _asked(target, run_at, date)
        moves = max(moves, _on(leaving, target) if demand.fresh else 0)
        in_parts = target.divisible or (steps is not None and target.stepped)
        share = _share(moves, room, limit, in_parts=in_parts)
        if share is None:
            waiting[target.key] = moves
            continue
        if share < moves:
            demand = TargetDemand(demand.at, budget=share, fresh=demand.fresh)
        shares[reference] = Share(key=target.key, demand=demand, moves=share, rest=moves - share)
        room = max(0, room - share)
    return Batch(
        shares=shares,
        going=going,
        known_at=known_at,
        moved=moved,
        waiting=waiting,
        interval=interval,
    )


def _on(clusters: frozenset[ClusterName], target: Target) -> int:
    """Return how many replicas a target has on some clusters, 0 where nobody can tell.

    What has no replicas counts once a cluster.
    """
    place = target.present() if clusters else None
    return 0 if place is None else sum(n or 1 for name, n in place.placed if name in clusters)


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


def _share(moves: int, left: int, limit: int, *, in_parts: bool) -> int | None:
    """Return how many replicas of a target go now, `None` if it has to wait.

    What cannot be divided goes as a whole: if there is room for it, or if it is the first of a
    batch, since it would never fit otherwise.
    """
    if moves == 0:
        return 0
    if not left:
        return None
    if in_parts:
        return min(left, moves)
    return moves if moves <= left or left == limit else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Where a rebalancer is after one pass.

    Attributes:
        status: The status afterwards.
        results: What became of each workload so far.
        expired: Whether its time to live is over, so that its manifest goes.
        waits: The moments at which time alone changes this answer.
    """

    status: Body
    results: tuple[Observed, ...]
    expired: bool
    waits: tuple[Waiting, ...]

    @property
    def until(self) -> datetime | None:
        """When time alone changes this answer, `None` if it does not."""
        return earliest(*(wait.until for wait in self.waits))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run: its moment, the workloads as they stand, what is still to be looked up.

    `date` is what triggers of this pass bear. `due` is the moment of the schedule that the run
    belongs to, `None` without a schedule.
    """

    moment: datetime
    date: datetime
    items: tuple[Observed, ...]
    due: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancerStep:
    """What a rebalancer wants of one pass; only the pass knows what comes of it.

    `refused` has the targets that cannot be made before anything breaks, and why; `rested` those
    that are left alone for a while.
    """

    rebalancer: Rebalancer
    run: _Run
    found: Mapping[Reference, Target | None]
    batch: Batch
    refused: Mapping[Reference, str]
    rested: Mapping[Reference, str]
    now: datetime

    @property
    def triggers(self) -> Mapping[ObjectKey, TargetDemand]:
        """Target to what is demanded of it, for the targets that need a trigger."""
        rest = self.rebalancer.rest_seconds
        return {key: replace(one, rest_seconds=rest) for key, one in self.batch.triggers.items()}

    @property
    def allowed(self) -> Mapping[ObjectKey, int]:
        """Target to the replicas that its limit lets go now, for the targets that have more."""
        return self.batch.allowed

    @property
    def surging(self) -> Mapping[ObjectKey, MakeBeforeBreak]:
        """Target to how it is to be made before anything breaks, where that is asked for."""
        limits = self.rebalancer.make_before_break
        if limits is None:
            return {}
        results = (one for ref, one in self.found.items() if ref not in self.refused)
        return {target.key: limits for target in results if target is not None}

    def close(self, rescheduled: Rescheduled) -> Advance:
        """Return how the rebalancer stands after the pass.

        Args:
            rescheduled: The targets whose demand the pass met, whatever the result.
        """
        closed = close_batch(self.batch, rescheduled, self.now)
        observed = tuple(
            replace(item, result=WorkloadResult.FAILED, reason=why, waits_for="")
            if (why := self.refused.get(item.reference)) is not None
            else replace(item, result=WorkloadResult.SUCCESSFUL, note=note, waits_for="")
            if (note := self.rested.get(item.reference)) is not None
            else _after(item, self.found, self.batch, closed, rescheduled)
            for item in self.run.items
        )
        return _finished(self.rebalancer, self.run, observed, closed, self.now)


def advance(rebalancer: Rebalancer, targets: Targets, now: datetime) -> RebalancerStep:
    """Trigger what is still to be triggered.

    A workload that was Successful or Failed once is never tried again in the same run, one without
    a binding is Failed for good. A target carries the later trigger of the two if several ask.

    Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go
    `doWorkloadRebalance`, `handleTTL`. Selectors, schedules and limits are ours.
    """
    run = _run(rebalancer, targets, now)
    looked_up = {
        item.reference: _found(rebalancer, targets, item.reference)
        for item in run.items
        if item.result is WorkloadResult.PENDING
    }
    refused = dict(_refused(rebalancer, looked_up))
    rested: dict[Reference, str] = {}
    for reference, target in looked_up.items():
        rest = None if target is None else rest_of(target, run.moment, now)
        if rest is None or reference in refused:
            continue
        if rest.undoes:
            refused[reference] = rest.why
        elif rebalancer.schedule is not None:
            rested[reference] = rest.why
    left_out = refused.keys() | rested.keys()
    wanted = {ref: target for ref, target in looked_up.items() if ref not in left_out}
    return RebalancerStep(
        rebalancer=rebalancer,
        run=run,
        found=looked_up,
        batch=open_batch(rebalancer, wanted, run.moment, run.date, now),
        refused=refused,
        rested=rested,
        now=now,
    )


def _refused(
    rebalancer: Rebalancer, found: Mapping[Reference, Target | None]
) -> Iterator[tuple[Reference, str]]:
    """Yield the targets of which nothing can be made before it breaks, or kept, and why.

    One that waits is asked once it does not; one with a step under way was asked.
    """
    if rebalancer.make_before_break is None and not rebalancer.preserves:
        return
    for reference, target in found.items():
        if target is not None and not target.waits_for and target.surge is None:
            why = target.unkept() if rebalancer.preserves else target.unmakeable()
            if why:
                yield reference, why


class _Anything:
    """Targets of which nothing is known, but that a selector may mean some."""

    def find(self, _: Reference, /) -> None:
        """Find nothing."""

    def select(self, _: TargetSelection, /) -> Iterable[Reference]:
        """Return that there may be something."""
        return (Reference("", "", "", ""),)

    def has_policy(self, _: ObjectKey, /) -> bool:
        """Return that no policy is known."""
        return False


def is_at_work(rebalancer: Rebalancer, now: datetime) -> bool:
    """Return whether a rebalancer may have targets to deal with at a moment, whatever they are."""
    return bool(advance(rebalancer, _Anything(), now).found)


@dataclass(slots=True, eq=False)
class MovedInParts:
    """What limited rebalancers and triggers are still moving, read anew where a file differs."""

    _answers: AnswerCache[None, frozenset[ObjectKey] | None] = field(default_factory=AnswerCache)

    def of(self, world: World) -> frozenset[ObjectKey] | None:
        """Return what their records say, `None` where one cannot be read: it may be anything."""
        outputs = map(world.outputs_of_kind, (REBALANCER, TRIGGER))
        written = (world.written_of_kind(*kind) for kind in (REBALANCER, TRIGGER))
        read_from = (*outputs, *written)
        return self._answers.recall(None, read_from, partial(_pending_in_parts, world))


def _pending_in_parts(world: World) -> frozenset[ObjectKey] | None:
    pending: set[ObjectKey] = set()
    for record in world.outputs_of_kind(REBALANCER):
        if record.key not in world.inputs:
            continue  # it is withdrawn
        try:
            pending.update(pending_in_batches(mapping(record.body, "status")))
        except UserError:
            return None
    return frozenset(pending.union(_triggered_in_steps(world)))


def _triggered_in_steps(world: World) -> Iterator[ObjectKey]:
    """Yield what a ScheduleTrigger with limits is still moving."""
    for record in world.outputs_of_kind(TRIGGER):
        written = world.inputs.get(record.key)
        if written is not None and mapping(mapping(written.body, "spec"), "limits"):
            for reference, reason in decode_trigger_status(record.body).failed:
                if not is_given_up(reason):
                    yield reference.key


def _found(rebalancer: Rebalancer, targets: Targets, reference: Reference) -> Target | None:
    """Return a target; it waits for the end of its eviction where the rebalancer says so."""
    target = targets.find(reference)
    if target is None or target.waits_for or not target.evicting:
        return target
    if not rebalancer.wait_for_eviction:
        return target
    clusters = ", ".join(target.evicting)
    return replace(target, waits_for=f"it is still being evicted from {clusters}")


def _run(rebalancer: Rebalancer, targets: Targets, now: datetime) -> _Run:
    """Return the run that the rebalancer is in, a new one if its schedule says so."""
    admitted, status = rebalancer.admitted, rebalancer.status
    renewed = status.observed_generation != admitted.generation
    if rebalancer.schedule is None:
        items = _merged(rebalancer, targets, expand=renewed)
        # Unlike upstream: a workload added by a later edit is triggered at the moment that this
        # generation was first seen, not at the creation, which would no longer be a trigger. One
        # that had to wait is triggered at the moment that lets it go: what scheduled it in between
        # would have taken an earlier trigger for its own.
        moment = admitted.generation_seen_at
        return _Run(moment=moment, date=moment if renewed else now, items=items, due=None)
    since = max(filter(None, (status.last_due, admitted.generation_seen_at)))
    due = None if rebalancer.suspend else due_run(rebalancer.schedule, since, now)
    if due is not None:
        fresh = replace(rebalancer, status=replace(status, observed=()))
        items = _merged(fresh, targets, expand=True)
        return _Run(moment=now, date=now, items=items, due=due)
    if status.last_run is None:
        return _Run(moment=now, date=now, items=(), due=None)
    return _Run(moment=status.last_run, date=now, items=status.observed, due=status.last_due)


def _merged(rebalancer: Rebalancer, targets: Targets, *, expand: bool) -> tuple[Observed, ...]:
    """Return the workloads asked for and the successful ones that left the spec, sorted.

    A selector is expanded once a run; what it meant then stands in the status.
    """
    wanted: dict[Reference, None] = dict.fromkeys(rebalancer.workloads)
    if rebalancer.selection is not None:
        selected = targets.select(rebalancer.selection) if expand else ()
        kept = () if expand else (item.reference for item in rebalancer.status.observed)
        wanted |= dict.fromkeys((*selected, *kept))
    observed = {
        item.reference: item
        for item in rebalancer.status.observed
        if item.reference in wanted or item.result is WorkloadResult.SUCCESSFUL
    }
    if expand and rebalancer.make_before_break is not None:
        # Ours: what was not ready in time has a limit that an edit may widen.
        observed = {ref: item for ref, item in observed.items() if not _may_yet(item)}
    merged = observed | {ref: Observed(ref) for ref in wanted if ref not in observed}
    return tuple(sorted(merged.values(), key=lambda item: item.reference.order))


def _may_yet(item: Observed) -> bool:
    """Return whether a workload failed for a reason that another limit may do away with."""
    return item.result is WorkloadResult.FAILED and item.reason != NOT_FOUND


def _after(
    item: Observed,
    found: Mapping[Reference, Target | None],
    batch: Batch,
    closed: Closed,
    rescheduled: Rescheduled,
) -> Observed:
    """Return how one workload stands after this pass."""
    if item.result is not WorkloadResult.PENDING:
        return item
    target, item = found[item.reference], replace(item, waits_for="")
    if target is None:
        return replace(item, result=WorkloadResult.FAILED, reason=NOT_FOUND)
    given_up = closed.given_up.get(item.reference)
    if given_up is not None:
        return replace(item, result=WorkloadResult.FAILED, reason=given_up)
    if item.reference in closed.done:
        note = rescheduled[target.key].note if target.key in rescheduled else ""
        return replace(item, result=WorkloadResult.SUCCESSFUL, note=note)
    missed = item.reference in batch.shares and item.reference not in closed.begun
    surge = target.surge if item.reference in batch.going else None
    step = "" if surge is None else surge.waits_for
    return replace(item, waits_for=target.waits_for or step or (UNDECIDED if missed else ""))


def _finished(
    rebalancer: Rebalancer,
    run: _Run,
    observed: tuple[Observed, ...],
    closed: Closed,
    now: datetime,
) -> Advance:
    """Decide on finish time and time to live.

    Any change of the status renews the finish time, so an edit defers the removal. Expired is
    `now >= finish_time + ttl`.
    """
    before, generation = rebalancer.status, rebalancer.admitted.generation
    changed = observed != before.observed or generation != before.observed_generation
    pending = any(item.result is WorkloadResult.PENDING for item in observed)
    started = run.due is not None or rebalancer.schedule is None
    renewed = changed and not pending and started
    status = Progress(
        observed=observed,
        observed_generation=generation,
        finish_time=now if renewed else before.finish_time,
        last_due=run.due or before.last_due,
        last_run=run.moment if run.due is not None else before.last_run,
        batch_at=closed.at,
        moved=closed.moved,
        remaining=closed.remaining,
    )
    expires_at = _expires_at(rebalancer, status, pending=pending)
    expired = expires_at is not None and now >= expires_at
    following = None
    if rebalancer.schedule is not None and not rebalancer.suspend:
        following = next_run(rebalancer.schedule, now)
    replicas = f"{closed.remaining} replica{'' if closed.remaining == 1 else 's'}"
    return Advance(
        status=encode(status, stamped=renewed, limited=rebalancer.is_limited),
        results=observed,
        expired=expired,
        waits=waiting(
            (closed.until, f"the next batch ({replicas} left) waits", "it goes"),
            (following, f"its schedule {rebalancer.schedule} is not due", "it runs again"),
            (None if expired else expires_at, "it is finished and kept", REMOVED),
        ),
    )


def _expires_at(rebalancer: Rebalancer, status: Progress, *, pending: bool) -> datetime | None:
    """Return when the rebalancer goes, `None` if never; one with a schedule stays."""
    ttl = rebalancer.ttl_seconds
    if status.finish_time is None or ttl is None or pending or rebalancer.schedule is not None:
        return None
    return add(status.finish_time, span(seconds=ttl))
