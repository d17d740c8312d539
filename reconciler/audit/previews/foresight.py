"""What is coming: the passes of the next moments, computed now, if nothing but time goes by.

No rule is written here: `reconcile` answers, at each moment at which it wants to look again, for
the world as the pass before would leave it. What a coming pass does to an object is put into words
as a clause.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from reconciler.core.asked import (
    MOMENTS,
    AskedAlone,
    Passes,
    SettledWorld,
    passes_alone,
    passes_since,
)
from reconciler.core.changes import Outcome
from reconciler.core.dialects import PLACED, dialect_of
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.dialects.contract import DependsOnOthers
from reconciler.model.decision import Decision, Placed, Wait, placed_text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import span
from reconciler.model.records import dataclass
from reconciler.model.text import enumerated
from reconciler.model.world import World

MOST_ALONE = 100
"""So many objects are asked one by one; whole passes answer for more of them in less time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """Something that happens by itself.

    Attributes:
        at: When, aware UTC; that of the next pass for what only waits for a pass.
        key: What decisions about the object bear, or a rebalancer.
        subject: The object as people call it.
        what: What happens, a clause.
        why: Why it happens, and `waits`, why it does not happen before: a clause.
        waits: Whether it waits for its moment; else it follows from the pass of that moment.
        before: Where the object is until then, `None` if it does not move.
        after: Where it is from then on, as of now; `None` if it does not move.
    """

    at: datetime
    key: ObjectKey
    subject: str
    what: str
    why: str
    waits: bool
    before: Placed | None = None
    after: Placed | None = None


OVERDUE = span(seconds=60)  # ours: a daemon is there within seconds, a first reading aside


def overdue(coming: Iterable[Coming], now: datetime, *, since: datetime) -> Coming | None:
    """Return the first that a pass should have brought by now, `None` if there is none.

    Args:
        coming: What passes will do.
        now: Aware UTC.
        since: Moment of the last commit, aware UTC; nothing is overdue before it.
    """
    return next((one for one in coming if now - max(one.at, since) > OVERDUE), None)


def foresee(
    world: World,
    now: datetime,
    *,
    memo: Memo | None = None,
    moments: int = MOMENTS,
    settled: SettledWorld | None = None,
) -> tuple[Coming, ...]:
    """Return what passes will do, in the order of time, then of objects.

    Of what comes again and again, such as the runs of a schedule, the first time counts.

    Args:
        world: As it is.
        now: Moment of the next pass: what it does comes first.
        memo: What earlier passes remembered.
        moments: How many passes are computed at most.
        settled: A world in which nothing comes, if one is known; it only saves work.
    """
    if settled is not None and settled.is_still(world, now):
        return ()
    settled_passes = None if settled is None else passes_since(settled, now, world)
    if settled_passes is not None:
        return told_by(settled_passes[0])
    memo = memo or Memo()
    first = reconcile(world, now, memo=memo)
    (passes,) = passes_of_each([(world, first)], now, memo=memo, moments=moments)
    return told_by(passes)


def passes_of_each(
    begun: Iterable[tuple[World, Outcome]],
    now: datetime,
    *,
    memo: Memo,
    moments: int = MOMENTS,
    until: datetime | None = None,
) -> list[Passes]:
    """Return the passes of the next moments in each of some worlds that have most in common.

    The worlds take turns, so that time never goes back for what the passes remember: for a moment
    that is over everything would have to be looked at again.

    Args:
        begun: The worlds, each with what a pass makes of it.
        now: Moment of these passes.
        memo: What they remembered.
        moments: How many passes of each are computed at most, these included.
        until: The last moment of which a pass is computed, `None` for any.
    """
    lines = [_Line(world, [(now, outcome)]) for world, outcome in begun]
    while turns := [
        (at, place)
        for place, line in enumerate(lines)
        if len(line.passes) < moments
        and (at := line.next_at) is not None
        and (until is None or at <= until)
    ]:
        at, place = min(turns)
        lines[place].go_on(at, memo)
    return [line.passes for line in lines]


@dataclass(slots=True)
class _Line:
    """The passes of one world so far, and the world as the last but one of them leaves it."""

    world: World
    passes: list[tuple[datetime, Outcome]]

    @property
    def next_at(self) -> datetime | None:
        """When a pass wants to look again, `None` if never."""
        at, outcome = self.passes[-1]
        return outcome.recheck_at and max(outcome.recheck_at, at)

    def go_on(self, at: datetime, memo: Memo) -> None:
        """Compute the pass of the next moment."""
        self.world = next_world(self.world, self.passes[-1][1])
        self.passes.append((at, reconcile(self.world, at, memo=memo)))


def foresee_some(
    world: World,
    keys: Collection[ObjectKey],
    now: datetime,
    *,
    alone: AskedAlone | None = None,
    memo: Memo | None = None,
) -> tuple[Coming, ...]:
    """Return what passes will do with some objects, as `foresee` does; a few are asked alone.

    The moments of an object that is asked alone are its own, so more may be told of it than among
    all others.

    Args:
        world: As it is.
        keys: What decisions about the objects bear, or rebalancers.
        now: Moment of the next pass.
        alone: What answers for single objects.
        memo: What earlier whole passes remembered.
    """
    few = len(keys) <= MOST_ALONE and all(key[:2] in PLACED for key in keys)
    alone = alone or AskedAlone()
    coming: list[Coming] = []
    for key in keys if few else ():
        answer = foresee_alone(world, now, alone, key)
        if isinstance(answer, DependsOnOthers):
            break
        coming += answer
    else:
        if few:
            return tuple(sorted(coming, key=_in_time))
    return tuple(one for one in foresee(world, now, memo=memo) if one.key in keys)


def foresee_alone(
    world: World, now: datetime, alone: AskedAlone, *keys: ObjectKey
) -> tuple[Coming, ...] | DependsOnOthers:
    """Return what passes will do with some objects, or why that takes the whole passes.

    Args:
        world: As it is.
        now: Moment of the next pass.
        alone: What answers for single objects.
        keys: What decisions about the objects bear.
    """
    passes = passes_alone(world, now, alone, *keys)
    if isinstance(passes, DependsOnOthers):
        return passes
    return tuple(one for one in told_by(passes) if one.key in keys)


def told_by(passes: Iterable[tuple[datetime, Outcome]]) -> tuple[Coming, ...]:
    """Return what passes do, one after the other, each with its moment."""
    announced: dict[tuple[ObjectKey, str], Coming] = {}
    waits: tuple[Wait, ...] = ()
    for at, outcome in passes:
        for coming in _at(at, waits, outcome.decisions):
            announced.setdefault((coming.key, coming.why), coming)
        waits = tuple(wait for wait in outcome.waits if wait.until > at)
    for wait in waits:
        if wait.then:
            announced.setdefault((wait.key, wait.reason), _waited(wait, None))
    return tuple(sorted(announced.values(), key=_in_time))


def _in_time(coming: Coming) -> tuple[datetime, ObjectKey, str]:
    return coming.at, coming.key, coming.why


def of_cluster(coming: Iterable[Coming], cluster: ObjectKey) -> tuple[datetime, str] | None:
    """Return when something next leaves a cluster or comes to it, and what; `None` if never.

    Args:
        coming: What is coming, in the order of time.
        cluster: The cluster; one of that name may be in another API, too.
    """
    name, dialect = ClusterName(cluster.name), dialect_of(cluster.group)
    ours = [one for one in coming if dialect_of(one.key.group) is dialect]
    moves = [(one.at, move) for one in ours for move in _moves(one) if move[0] == name]
    if not moves:
        return None
    first = moves[0][0]
    return first, _traffic([(then, later) for at, (_, then, later) in moves if at == first])


def is_on_cluster(coming: Coming, cluster: str) -> bool:
    """Return whether something leaves a cluster or comes to it."""
    return any(name == cluster for name, _, _ in _moves(coming))


def _moves(coming: Coming) -> Iterator[tuple[ClusterName, int | None, int | None]]:
    """Yield each cluster where something changes, with its part before and after."""
    then, later = dict(coming.before or ()), dict(coming.after or ())
    for name in sorted(then.keys() | later.keys()):
        if then.get(name) != later.get(name):
            yield name, then.get(name), later.get(name)


def _traffic(parts: Sequence[tuple[int | None, int | None]]) -> str:
    """Return what comes or goes in all: replicas where they are counted, else objects."""
    replicas = sum((later or 0) - (then or 0) for then, later in parts)
    objects = sum((later is not None) - (then is not None) for then, later in parts)
    count, noun = (replicas, "replica") if replicas else (objects, "object")
    plural = "" if abs(count) == 1 else "s"
    verb = ("leave" if count < 0 else "come") + ("" if plural else "s")
    return f"{abs(count)} {noun}{plural} {verb}"


def _at(at: datetime, waits: Sequence[Wait], decisions: Iterable[Decision]) -> Iterator[Coming]:
    """Yield what happens at a moment: what was waited for, and what follows from it."""
    decided = {decision.key: decision for decision in decisions if _tells(decision)}
    ended = [wait for wait in waits if wait.until <= at]
    for wait in ended:
        decision = decided.get(wait.key)
        if wait.then or decision is not None:
            yield _waited(wait, decision)
    waited = {wait.key for wait in ended}
    for key, decision in decided.items():
        if key not in waited:
            yield Coming(
                at=at,
                key=key,
                subject=decision.subject,
                what=moved_words(step_words(decision), decision),
                why=cause_words(decision),
                waits=False,
                before=decision.before,
                after=decision.after,
            )


def _waited(wait: Wait, decision: Decision | None) -> Coming:
    """Return what a wait ends with; a decision says where that leads."""
    then = wait.then or waited_step(decision)
    return Coming(
        at=wait.until,
        key=wait.key,
        subject=wait.subject,
        what=then if decision is None else moved_words(then, decision),
        why=wait.reason,
        waits=True,
        before=None if decision is None else decision.before,
        after=None if decision is None else decision.after,
    )


def _tells(decision: Decision) -> bool:
    """Return whether a decision moves something or says what is wrong."""
    return decision.before != decision.after or decision.removed or bool(decision.problem)


MOST_NAMES = 8


def moved_words(what: str, decision: Decision) -> str:
    """Return what happens, with where the object is from then on and what it lacks."""
    if decision.before != decision.after:
        way = "as of now to" if _gains(decision) else "and it stays on"
        what = f"{what}, {way} {placed_text(decision.after)}"
    return f"{what}; {decision.problem}" if decision.problem else what


def step_words(decision: Decision) -> str:
    """Return what an object does that nobody waited for."""
    if not decision.before:
        return "it is placed"
    if decision.before == decision.after or _gains(decision):
        return "it moves"
    there = {name for name, _ in decision.after}
    vacated = [name for name, _ in decision.before if name not in there]
    return f"it leaves {enumerated(vacated, MOST_NAMES)}" if vacated else "it has fewer replicas"


def waited_step(decision: Decision | None) -> str:
    """Return what an object does that waited for a moment at which anything may happen."""
    return "it may move" if decision is None or _gains(decision) else step_words(decision)


def cause_words(decision: Decision) -> str:
    """Return why an object moves, with what turned away the clusters that it leaves."""
    after = dict(decision.after)
    cause = str(decision.cause)
    vacated = [name for name, _ in decision.before if name not in after and name not in cause]
    reasons = [
        f"{name}: {decision.rejected[name]}" for name in vacated if name in decision.rejected
    ]
    return f"{cause} ({'; '.join(reasons)})" if reasons else cause


def _gains(decision: Decision) -> bool:
    """Return whether any cluster has more of an object than before, or none has it any more."""
    before = dict(decision.before)
    more = [count > before.get(name, -1) for name, count in decision.after]
    return not more or any(more)
