"""Why an object is where it is: the pass that decided, explained, and what is otherwise by now."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.audit.journal import Event
from reconciler.audit.placed import placed_on
from reconciler.audit.revisions import Revisions, Unreadable, claim_of
from reconciler.core.reconcile import reconcile
from reconciler.core.record import last_pass
from reconciler.model.decision import Placed
from reconciler.model.explanation import ClusterAnswer, Explanation, Verdict
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Fault, World


@dataclass(frozen=True, slots=True)
class Shift:
    """A cluster of which scheduling says something else than when it decided."""

    cluster: ClusterName
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The answer.

    Attributes:
        key: The output that holds the decision.
        placed: Where the object is.
        event: The pass that decided last, `None` if the history does not tell.
        then: What scheduling said in that pass, `None` without one, or if it removed the object.
        now: What it says of the present world, `None` where it is not asked: all is suspended.
        shifts: What is otherwise by now, ascending by cluster.
        note: Why the history does not tell, `""` if it does.
        faults: What is wrong in the object's own files, sorted; its last good version counts.
    """

    key: ObjectKey
    placed: Placed
    event: Event | None
    then: Explanation | None
    now: Explanation | None
    shifts: tuple[Shift, ...]
    note: str = ""
    faults: tuple[Fault, ...] = ()

    @property
    def explanation(self) -> Explanation | None:
        """What there is to show: the decision, or else the present."""
        return self.then or self.now


def explain_why(
    key: ObjectKey,
    present: World,
    events: Iterable[Event],
    revisions: Revisions,
    *,
    named: ObjectKey,
    clock: datetime,
) -> Why:
    """Explain an object by the pass that decided last, and compare with the present world.

    Args:
        key: The output that holds the decision.
        present: The world that is asked about.
        events: What happened to the object, the newest first; the first one counts.
        revisions: Where earlier worlds come from.
        named: What the person asked about: a workload, or the key itself.
        clock: Moment of the question for a world that no pass has seen.
    """
    last = last_pass(present.outputs)
    now = _explained(present, key, clock if last is None else last.at + timedelta(seconds=1))
    event = next(iter(events), None)
    then, note = None, "" if event is None else event.note
    if event is not None and event.decision is not None:
        then = _then(key, event, revisions)
    elif event is not None:
        note = f"{event.commit.revision[:12]} by {event.commit.author}: {event.note}"
    return Why(
        key=key,
        placed=placed_on(present, key),
        event=event if event is not None and event.decision is not None else None,
        then=then,
        now=now,
        shifts=tuple(_shifts(then, now)),
        note=note,
        faults=_faults(present, {key, named}),
    )


def _faults(world: World, keys: set[ObjectKey]) -> tuple[Fault, ...]:
    """Return what is wrong with some objects, or with the file that one of them stands in."""
    paths = {held.path for held in world.held if not keys.isdisjoint(held.keys)}
    subjects = {str(key) for key in keys}
    return tuple(f for f in world.faults if f.path in paths or f.subject in subjects)


def _then(key: ObjectKey, event: Event, revisions: Revisions) -> Explanation | None:
    """Compute the pass that decided again, and ask it."""
    claim = claim_of(event.commit)
    if claim is None or claim.inputs is None:
        return None
    world = revisions.world(claim.inputs, event.commit.parent or claim.inputs)
    return None if isinstance(world, Unreadable) else _explained(world, key, event.at)


def _explained(world: World, key: ObjectKey, now: datetime) -> Explanation | None:
    """Ask a pass about one object."""
    explain = reconcile(world, now, asked=frozenset({key})).explanations.get(key)
    return None if explain is None else explain()


def _shifts(then: Explanation | None, now: Explanation | None) -> Iterable[Shift]:
    """Yield the clusters that would be judged otherwise today, where they are judged at all."""
    if then is None or now is None or not (then.judged and now.judged):
        return
    before = {answer.cluster: answer for answer in then.clusters}
    after = {answer.cluster: answer for answer in now.clusters}
    for name in sorted(before.keys() | after.keys()):
        message = _shift(before.get(name), after.get(name))
        if message:
            yield Shift(name, message)


def _shift(before: ClusterAnswer | None, after: ClusterAnswer | None) -> str:
    """Say what is otherwise about one cluster, `""` if nothing is."""
    if after is None:
        return "is gone"
    reasons = "; ".join(map(against, after.verdicts))
    if before is None:
        return f"is new, and is turned away: {reasons}" if reasons else "is new, and would pass"
    if before.verdicts and not after.verdicts:
        return "would pass today"
    if after.verdicts and not before.verdicts:
        return f"would be turned away today: {reasons}"
    return ""


def against(verdict: Verdict) -> str:
    """Return what speaks against a cluster: the filter, where it is one, and its reason."""
    return f"{verdict.plugin}: {verdict.reason}" if verdict.plugin else verdict.reason
