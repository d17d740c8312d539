"""Why an object is where it is: the pass that decided, explained, and what is otherwise by now."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from reconciler.audit.fleet.copies import CopiesOf, DeliveredCopy, Elsewhere
from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.history.decisions import Event
from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.resumption import Suspension, suspension_of
from reconciler.audit.replay import Replay
from reconciler.core.dialects import decision_on, find_strategy
from reconciler.core.record import next_moment
from reconciler.model.decision import ClusterAnswer, ClusterVerdict, Decision, Explanation, Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Fault, World
from reconciler.staging.view import runs_in


@dataclass(frozen=True, slots=True)
class Shift:
    """A cluster of which scheduling says something else than when it decided."""

    cluster: ClusterName
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Where an object is, and why there.

    Attributes:
        key: The output that holds the decision.
        placed: Where the object is.
        event: What put it there last, a pass or an edit by hand; `None` if the history does not
            tell.
        then: What scheduling said in that pass, `None` without one, or if it removed the object.
        now: What it says of the present world, `None` where it is not asked: all is suspended.
        coming: What the next pass moves, `None` if it leaves the object where it is.
        shifts: What is otherwise by now, ascending by cluster.
        later: What comes by itself; what the next pass makes of an edit by hand is `coming`.
        note: Why the history does not tell, `""` if it does.
        faults: What is wrong in the object's own files, sorted; its last good version counts.
        copies: What each cluster has of it.
        suspension: What suspends it, and what it would be resumed; `None` where nothing does.
    """

    key: ObjectKey
    placed: Placed
    event: Event | None
    then: Explanation | None
    now: Explanation | None
    coming: Decision | None
    shifts: tuple[Shift, ...]
    later: tuple[Coming, ...] = ()
    note: str = ""
    faults: tuple[Fault, ...] = ()
    copies: tuple[DeliveredCopy, ...] = ()
    suspension: Suspension | None = None

    @property
    def question(self) -> str:
        """What is asked for: by the files of today where it is suspended, else when it was decided.

        What was decided counts until then, so it is told beside that.
        """
        question = "" if self.explanation is None else self.explanation.question
        today = "" if self.suspension is None else self.suspension.question
        if not today or today == question:
            return question
        return f"{today} (held; decided was {question})" if question else today

    @property
    def explanation(self) -> Explanation | None:
        """What there is to show: the decision, or else the present."""
        return self.then or self.now


def explain_why(
    key: ObjectKey,
    present: World,
    events: Iterable[Event],
    replay: Replay,
    *,
    named: ObjectKey,
    clock: datetime,
    elsewhere: Elsewhere,
) -> Why:
    """Explain an object by the pass that decided last, and compare with the present world.

    Where a person's edit came later, there is no such pass: the present is explained, and what the
    next pass makes of the edit.

    Args:
        key: The output that holds the decision.
        present: The world that is asked about.
        events: What happened to the object, the newest first; the first that moved it counts.
        replay: What computes passes again.
        named: What the person asked about: a workload, or the key itself.
        clock: Moment of the question for a world that no pass has seen.
        elsewhere: What is delivered on other branches.
    """
    moment = next_moment(present, clock)
    now, coming = replay.explain(present, key, moment)
    latest = next((event for event in events if not event.is_still), None)
    shown = (
        latest if latest is not None and (latest.by_hand or latest.decision is not None) else None
    )
    then = None if shown is None or shown.by_hand else replay.explain_again(shown.commit, key)
    staged = tuple(_staged(present, key))
    if staged and now is not None:
        now = replace(now, rollout=(*now.rollout, *staged))
    return Why(
        key=key,
        placed=placed_on(present, key),
        event=shown,
        then=then,
        now=now,
        coming=coming if coming is not None and coming.before != coming.after else None,
        shifts=tuple(_shifts(then, now)),
        later=tuple(
            one
            for one in replay.foresee(present, key, moment)
            if one.at > moment or shown is None or not shown.by_hand
        ),
        note="" if latest is None or latest.by_hand else latest.note,
        faults=_faults(present, {key, named}),
        copies=CopiesOf(present, clock, elsewhere, (key,))(key),
        suspension=suspension_of(present, key, moment, replay),
    )


def _staged(world: World, key: ObjectKey) -> Iterator[str]:
    """Yield how far the run of a staged delivery is that changes what a decision is about."""
    for changed, lines in runs_in(world, find_strategy):
        if decision_on(changed) == key:
            yield from lines


def _faults(world: World, keys: set[ObjectKey]) -> tuple[Fault, ...]:
    """Return what is wrong with some objects, or with the file that one of them stands in."""
    paths = {held.path for held in world.held if not keys.isdisjoint(held.keys)}
    subjects = {str(key) for key in keys}
    return tuple(f for f in world.faults if f.path in paths or f.subject in subjects)


def _shifts(then: Explanation | None, now: Explanation | None) -> Iterable[Shift]:
    """Yield the clusters that would be judged otherwise today, where they are judged at all."""
    if then is None or now is None or not (then.judged and now.judged):
        return
    before = {answer.cluster: answer for answer in then.clusters}
    after = {answer.cluster: answer for answer in now.clusters}
    swapped = _swapped(before, after)
    for name in sorted(before.keys() | after.keys()):
        message = _shift(before.get(name), after.get(name), swapped=name in swapped)
        if message:
            yield Shift(name, message)


def _swapped(
    before: Mapping[ClusterName, ClusterAnswer], after: Mapping[ClusterName, ClusterAnswer]
) -> frozenset[ClusterName]:
    """Return the clusters that come earlier or later today among those ranked then and now."""
    both = [name for name in before.keys() & after.keys() if before[name].rank and after[name].rank]
    then = sorted(both, key=lambda name: before[name].rank or 0)
    now = sorted(both, key=lambda name: after[name].rank or 0)
    return frozenset(name for name, other in zip(then, now, strict=True) if name != other)


def _shift(before: ClusterAnswer | None, after: ClusterAnswer | None, *, swapped: bool) -> str:
    """Return what is otherwise about one cluster, `""` if nothing is."""
    if after is None:
        return "was removed"
    reasons = "; ".join(filter(None, (_down(after), *map(against, after.verdicts))))
    if before is not None and not before.verdicts and not after.verdicts:
        return _otherwise(before, after, swapped=swapped)
    if before is None:
        return f"is new, and is filtered out: {reasons}" if reasons else "is new, and would pass"
    if before.verdicts and not after.verdicts:
        return "would pass today"
    if after.verdicts and not before.verdicts:
        return f"would be filtered out today: {reasons}"
    return ""


def _down(answer: ClusterAnswer) -> str:
    """Return that a cluster is down, before what follows from that; `""` if it is not."""
    return f"it {answer.down}" if answer.down and answer.verdicts else ""


def _otherwise(before: ClusterAnswer, after: ClusterAnswer, *, swapped: bool) -> str:
    """Return how a cluster that passes is ranked and chosen today, `""` if as it was then."""
    ill = after.down if after.down != before.down else ""
    return "; ".join(filter(None, (ill, _rank(before, after, swapped=swapped))))


def _rank(before: ClusterAnswer, after: ClusterAnswer, *, swapped: bool) -> str:
    """Return which place a cluster has today, by which score, `""` if the one that it had."""
    if not swapped and before.picked == after.picked:
        return ""
    return f"would be {_standing(after)} today; it was {_standing(before)}"


def _standing(answer: ClusterAnswer) -> str:
    """Return the place of a cluster, its score, and whether it is chosen."""
    place = "unranked" if answer.rank is None else f"#{answer.rank}"
    score = "" if answer.total is None else f" with a score of {answer.total}"
    return f"{place}{score}{' and chosen' if answer.picked else ''}"


def against(verdict: ClusterVerdict) -> str:
    """Return what speaks against a cluster: the filter, where it is one, and its reason."""
    return f"{verdict.plugin}: {verdict.reason}" if verdict.plugin else verdict.reason
