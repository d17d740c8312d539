"""What is coming: the passes of the next moments, computed now, if nothing but time goes by.

No rule is written here: it is `reconcile` that is asked, at each moment at which it wants to look
again, of the world as the pass before would leave it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.changes import Outcome
from reconciler.core.memo import Memo
from reconciler.core.next_world import next_world
from reconciler.core.reconcile import reconcile
from reconciler.model.decision import Decision, Placed, placed_text
from reconciler.model.identity import ObjectKey
from reconciler.model.wait import Wait
from reconciler.model.world import World

MOMENTS = 8
"""So many passes are computed; what waits for a later moment is told as far as it is known."""


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


def foresee(
    world: World,
    now: datetime,
    *,
    memo: Memo | None = None,
    first: Outcome | None = None,
    moments: int = MOMENTS,
) -> tuple[Coming, ...]:
    """Return what passes will do, in the order of time, then of objects.

    Of what comes again and again, such as the runs of a schedule, the first time counts.

    Args:
        world: As it is.
        now: Moment of the next pass: what it does comes first.
        memo: What earlier passes remembered.
        first: What that pass does, if it is known.
        moments: How many passes are computed at most.
    """
    memo = memo or Memo()
    found: dict[tuple[ObjectKey, str], Coming] = {}
    at = now
    waits: tuple[Wait, ...] = ()
    for number in range(moments):
        known = first if number == 0 else None
        outcome = reconcile(world, at, memo=memo) if known is None else known
        for coming in _at(at, waits, outcome.decisions):
            found.setdefault((coming.key, coming.why), coming)
        waits = tuple(wait for wait in outcome.waits if wait.until > at)
        if outcome.recheck_at is None:
            break
        world, at = next_world(world, outcome), max(outcome.recheck_at, at)
    for wait in waits:
        if wait.then:
            found.setdefault((wait.key, wait.reason), _waited(wait, None))
    return tuple(sorted(found.values(), key=lambda coming: (coming.at, coming.key, coming.why)))


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
                what=_moved("it moves" if decision.before else "it is placed", decision),
                why=_cause(decision),
                waits=False,
                before=decision.before,
                after=decision.after,
            )


def _waited(wait: Wait, decision: Decision | None) -> Coming:
    """Return what a wait ends with; a decision says where that leads."""
    then = wait.then or "it may move"
    return Coming(
        at=wait.until,
        key=wait.key,
        subject=wait.subject,
        what=then if decision is None else _moved(then, decision),
        why=wait.reason,
        waits=True,
        before=None if decision is None else decision.before,
        after=None if decision is None else decision.after,
    )


def _tells(decision: Decision) -> bool:
    """Return whether a decision moves something or says what is wrong."""
    return decision.before != decision.after or decision.removed or bool(decision.problem)


def _moved(what: str, decision: Decision) -> str:
    """Return what happens, with where the object is from then on and what it lacks."""
    if decision.before != decision.after:
        what = f"{what}, as of now to {placed_text(decision.after)}"
    return f"{what}; {decision.problem}" if decision.problem else what


def _cause(decision: Decision) -> str:
    """Return why an object moves, with what turned away the clusters that it leaves."""
    after = dict(decision.after)
    cause = str(decision.cause)
    left = [name for name, _ in decision.before if name not in after and name not in cause]
    told = [f"{name}: {decision.rejected[name]}" for name in left if name in decision.rejected]
    return f"{cause} ({'; '.join(told)})" if told else cause
