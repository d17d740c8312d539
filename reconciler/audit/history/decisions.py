"""The decisions about one object over time, and which user commits caused them.

Between two passes stands what users committed, each commit with the inputs and outputs that the
later pass looked at after it. To check a decision, its pass is computed again for one object and
compared with what the commit left. That is done by the present rules: what a commit by other rules
holds is told, and where they would not have written the same, that is said.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from reconciler.audit.fleet.placed import Side, decided_on, paths_of, places_of, sides_of
from reconciler.audit.history.revisions import (
    Commit,
    Lineage,
    Revisions,
    UnreadableRevision,
    is_by_hand,
    pass_of,
)
from reconciler.audit.replay import Replay, Run
from reconciler.core.changes import WriteFile
from reconciler.core.message import MOST_COMMITS, files_behind
from reconciler.manifests.paths import blob_id
from reconciler.model.decision import CauseKind, Decision, Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, replace
from reconciler.model.world import RULES, World


class TakenUp(NamedTuple):
    """A commit that a pass took up, with the inputs and outputs as it left them."""

    commit: Commit
    inputs: str
    outputs: str | None


def steps_since(lineage: Lineage, position: int, revisions: Revisions) -> tuple[TakenUp, ...]:
    """Return people's commits between one and the pass before, the newest first, then that pass."""
    commits: list[Commit] = []
    for before in range(position + 1, len(lineage.revisions)):
        commits.append(lineage[before])
        if not is_by_hand(commits[-1]):
            break
    if not revisions.layout.apart:
        return tuple(TakenUp(one, one.revision, one.revision) for one in commits)
    return _steps_apart(lineage[position], commits, revisions)


def _steps_apart(
    commit: Commit, commits: Sequence[Commit], revisions: Revisions
) -> tuple[TakenUp, ...]:
    """Return the same where people write to another branch: what they edited here comes last."""
    read = pass_of(commit)
    if read is None:
        return ()
    before = pass_of(commits[-1]) if commits else None
    if before is None:
        return (TakenUp(revisions.commit_at(read.inputs), read.inputs, None),)
    *edits, last = commits
    return (
        *(TakenUp(one, read.inputs, one.revision) for one in edits),
        *(
            TakenUp(one, one.revision, last.revision)
            for one in revisions.between(before.inputs, read.inputs)
        ),
        TakenUp(last, before.inputs, last.revision),
    )


PIECE = 16  # passes that are computed in one go
BY_HAND, REMOVED, UNREADABLE = "edited by hand", "removed by hand", "edited by hand, cannot be read"
SAME_CLUSTERS = "edited by hand, on the same clusters"
OTHERWISE = "the commit holds something else; see reconciler verify"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One commit that mattered to an object.

    Attributes:
        commit: The commit that wrote its output.
        at: Moment of the pass, of a person's commit that of the commit.
        before: Where the object was, `None` if that cannot be told.
        after: Where it was then, `None` if that cannot be told.
        decision: What the pass decided, `None` where a person edited the output or where the pass
            cannot be computed again.
        causes: The commits of people that brought it about, the oldest first; of several between
            two passes all that edited what the causes stand in, or else the first that is enough.
            Empty where time alone was the cause. A merge comes
            after the edits by hand that it brought.
        note: What must be said of it besides, `""` for nothing.
    """

    commit: Commit
    at: datetime
    before: Placed | None = None
    after: Placed | None = None
    decision: Decision | None = None
    causes: tuple[Commit, ...] = ()
    note: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether a person did it, not a pass."""
        return is_by_hand(self.commit)

    @property
    def is_resume(self) -> bool:
        """Whether the object was suspended until then."""
        return self.decision is not None and CauseKind.RESUMED in self.decision.cause.kinds

    @property
    def is_still(self) -> bool:
        """Whether a person's edit left the object where it was."""
        return self.by_hand and self.before is not None and self.before == self.after

    @property
    def why(self) -> str:
        """Why the object moved, in a few words."""
        return self.note if self.decision is None else str(self.decision.cause)


@dataclass(frozen=True, slots=True)
class Blame:
    """Since which event an object is on a cluster, with how many replicas now."""

    cluster: ClusterName
    replicas: int
    event: Event


def history_of(
    key: ObjectKey,
    lineage: Lineage,
    touched: Iterable[str],
    replay: Replay,
    *,
    first: int = 1,
) -> Iterator[Event]:
    """Yield what happened to an object, the newest first.

    Args:
        key: What decisions about the object bear.
        lineage: The whole history along first parents, the newest first.
        touched: The revisions among them that may have changed where it is, in the same order.
        replay: What computes passes again.
        first: How many are computed together at first: as many as will surely be asked for.
    """
    position = {revision: i for i, revision in enumerate(lineage.revisions)}

    def listed() -> Iterator[Event]:
        for piece in _pieces(touched, first):
            events = [_event(key, lineage, position[one], replay) for one in reversed(piece)]
            yield from (event for event in reversed(events) if event is not None)

    yield from _with_edits_while_suspended(listed(), replay.revisions)


def _with_edits_while_suspended(events: Iterable[Event], revisions: Revisions) -> Iterator[Event]:
    """Yield events; a resume has all that was edited since the object was placed last.

    What a resume moves was asked for while the object was suspended: a scale, another placement.
    """
    resumed: Event | None = None
    for event in events:
        if resumed is not None:
            yield replace(resumed, causes=_edits_between(event.commit, resumed, revisions))
        resumed = event if event.is_resume else None
        if resumed is None:
            yield event
    if resumed is not None:
        yield resumed


def _edits_between(older: Commit, resumed: Event, revisions: Revisions) -> tuple[Commit, ...]:
    """Return people's commits after an older one to the files that a resume edited."""
    old, new = pass_of(older), pass_of(resumed.commit)
    inputs = older.revision if old is None else old.inputs
    if new is None or not revisions.leads_to(inputs, new.inputs):
        return resumed.causes
    files = {change.path for commit in resumed.causes for change in revisions.changes(commit)}
    people = filter(is_by_hand, reversed(revisions.between(inputs, new.inputs)))
    edits = tuple(
        commit
        for commit in people
        if any(change.path in files for change in revisions.changes(commit))
    )
    return edits if resumed.causes and 0 < len(edits) <= MOST_COMMITS else resumed.causes


def blame_of(events: Iterable[Event], present: Placed) -> list[Blame]:
    """Return for each cluster that an object is on the event that put it there, by name.

    Args:
        events: What happened to it, the newest first; read no further than needed.
        present: Where it is now.
    """
    wanted = dict(present)
    blames: dict[ClusterName, Blame] = {}
    untold: Event | None = None  # the oldest event since whose moves are unknown
    for event in events:
        if event.before is None or event.after is None:
            untold = event
            continue
        before, after = dict(event.before), dict(event.after)
        for name in wanted.keys() - blames.keys():
            if name not in after and untold is not None:
                blames[name] = Blame(name, wanted[name], untold)
            elif name in after and name not in before:
                blames[name] = Blame(name, wanted[name], event)
        if blames.keys() >= wanted.keys():
            break
    if untold is not None:
        rest = wanted.keys() - blames.keys()
        blames.update((name, Blame(name, wanted[name], untold)) for name in rest)
    return [blames[name] for name in sorted(blames)]


def _pieces(revisions: Iterable[str], first: int) -> Iterator[list[str]]:
    """Yield revisions in pieces that grow: whoever asks for the last one pays for no other.

    Inside of a piece time goes on, which is what passes remember each other for.
    """
    rest, size = iter(revisions), first
    while piece := list(islice(rest, size)):
        yield piece
        size = min(2 * size, PIECE)


def _event(key: ObjectKey, lineage: Lineage, position: int, replay: Replay) -> Event | None:
    """Return what one commit meant to an object; `None` if nothing."""
    commit = lineage[position]
    if is_by_hand(commit):
        return _edit(key, commit, replay.revisions)
    return _pass(key, commit, steps_since(lineage, position, replay.revisions), replay)


def _edit(key: ObjectKey, commit: Commit, revisions: Revisions) -> Event | None:
    """Return what a person did to the outputs of an object; `None` if nothing."""
    sides = sides_of(key, commit, revisions)
    if isinstance(sides, UnreadableRevision):
        note = f"{BY_HAND}; {sides.reason}"
        return Event(commit=commit, at=commit.committed_at, causes=(commit,), note=note)
    before, after = sides
    if before.files == after.files:
        return None
    note = BY_HAND
    if after.placed is None:
        note = UNREADABLE
    elif after.files.items() < before.files.items():
        note = REMOVED
    elif before.placed == after.placed:
        note = SAME_CLUSTERS
    return Event(
        commit=commit,
        at=commit.committed_at,
        before=before.placed,
        after=after.placed,
        causes=(*revisions.brought(commit, sorted(before.files.keys() | after.files)), commit),
        note=note,
    )


def _pass(
    key: ObjectKey, commit: Commit, since: tuple[TakenUp, ...], replay: Replay
) -> Event | None:
    """Compute a pass again; `None` if it decided nothing about the object."""
    read = pass_of(commit)
    at = commit.committed_at if read is None else read.at
    by = RULES if read is None else read.rules
    otherwise = OTHERWISE if by == RULES else f"made by rules {by}, computed again by rules {RULES}"
    run = run_computed_again(key, commit, replay)
    if isinstance(run, UnreadableRevision):
        return Event(commit=commit, at=at, note=run.reason)
    decision = run.decision_on(key)
    as_computed = is_as_computed(key, commit, run, replay.revisions)
    if not as_computed:
        sides = sides_of(key, commit, replay.revisions)
        if isinstance(sides, UnreadableRevision):
            return Event(commit=commit, at=at, note=sides.reason)
        if not went_as(decision, sides):
            before, after = (side.placed for side in sides)
            return Event(commit=commit, at=at, before=before, after=after, note=otherwise)
    if decision is None:
        return _followed(key, commit, at, since, replay)
    notes = ("" if as_computed else otherwise, *_endings(key, commit, run, replay.revisions))
    return Event(
        commit=commit,
        at=at,
        before=decision.before,
        after=decision.after,
        decision=decision,
        causes=_edits_behind(decision, run.world, since, replay.revisions)
        or _causes(decision, (read and read.inputs, commit.parent), at, since, replay),
        note="; ".join(filter(None, notes)),
    )


def _followed(
    key: ObjectKey, commit: Commit, at: datetime, since: tuple[TakenUp, ...], replay: Replay
) -> Event | None:
    """Return where an object came or went with what needs it; `None` if it did not."""
    sides = sides_of(key, commit, replay.revisions)
    if isinstance(sides, UnreadableRevision):
        return None
    before, after = sides
    followed = sorted({*before.followed, *after.followed})
    if before.placed == after.placed or not followed:
        return None
    passes = (_pass(one, commit, since, replay) for one in followed)
    first = next((one for one in passes if one is not None), None)
    names = ", ".join(one.name for one in followed)
    return Event(
        commit=commit,
        at=at,
        before=before.placed,
        after=after.placed,
        causes=() if first is None else first.causes,
        note=f"needed by {names}",
    )


def _endings(key: ObjectKey, commit: Commit, run: Run, revisions: Revisions) -> Iterator[str]:
    """Yield what a pass says of an object for the last time, with each rebalancer that goes."""
    removals = run.outcome.removals
    changed = {change.path for change in revisions.changes(commit)} if removals else set()
    for removal in (removal for removal in removals if removal.path in changed):
        for result in removal.results:
            if decided_on(result.reference) == key:
                said = f"{result.result} ({result.reason})" if result.reason else result.result
                yield f"{removal.key.kind} {removal.key.name}, removed by then: {said}"


def _edits_behind(
    decision: Decision, world: World, since: tuple[TakenUp, ...], revisions: Revisions
) -> tuple[Commit, ...]:
    """Return the commits of people that edited what the causes of a decision stand in.

    They are those that the trailers of the pass name. There are none where time was the cause,
    where a decision was edited by hand, where one commit is all there is, or very many are.
    """
    people = [step.commit for step in reversed(since) if is_by_hand(step.commit)]
    if not 1 < len(people) <= MOST_COMMITS or CauseKind.EDITED in decision.cause.kinds:
        return ()
    files = files_behind(decision, world)
    edited = ((one, {change.path for change in revisions.changes(one)}) for one in people)
    return tuple(one for one, paths in edited if not files.isdisjoint(paths))


def _causes(
    decision: Decision,
    asked: tuple[str | None, str | None],
    now: datetime,
    since: tuple[TakenUp, ...],
    replay: Replay,
) -> tuple[Commit, ...]:
    """Return the first of people's commits that is enough for a decision.

    A pass takes several commits together; the same pass over the inputs and outputs of each tells
    which one mattered, whether it changed what people write or what passes wrote. If those of the
    pass before are enough, time alone was the cause.

    Args:
        decision: What the pass decided.
        asked: The revisions whose inputs and outputs the pass looked at.
        now: Its moment.
        since: People's commits since the pass before, the newest first, then that pass if any.
        replay: What computes passes again.
    """
    people = tuple(step.commit for step in reversed(since) if is_by_hand(step.commit))
    if not people:
        return ()
    for commit, inputs, outputs in reversed(since):
        if asked == (inputs, outputs):
            return (commit,)  # that is what the pass looked at
        run = replay.run(inputs, outputs, now, of=decision.key)
        if isinstance(run, UnreadableRevision):
            continue
        decided = run.decision_on(decision.key)
        if decided is not None and (decided.before, decided.after) == (
            decision.before,
            decision.after,
        ):
            return (commit,) if is_by_hand(commit) else ()
    return people


def run_computed_again(key: ObjectKey, commit: Commit, replay: Replay) -> Run | UnreadableRevision:
    """Compute a pass again: of one object, and of all where the commit holds something else.

    Of one object only its own outputs were read, so what others had a say in may have been missed.
    """
    run = replay.run_again(commit, key)
    if isinstance(run, UnreadableRevision) or run.of is None:
        return run
    if is_as_computed(key, commit, run, replay.revisions):
        return run
    sides = sides_of(key, commit, replay.revisions)
    if isinstance(sides, UnreadableRevision) or went_as(run.decision_on(key), sides):
        return run
    return replay.run_again(commit)


def is_as_computed(key: ObjectKey, commit: Commit, run: Run, revisions: Revisions) -> bool:
    """Return whether the commit left the outputs of an object as the pass computes them."""
    _, *folders = places_of(key, revisions.layout)
    written = {c.path: c.content for c in run.outcome.changes if isinstance(c, WriteFile)}
    new = {p for p in written if p.rpartition("/")[0] in folders and key.name in written[p]}
    paths = paths_of(run.world, key) | new
    computed = {
        change.path: blob_id(written[change.path].encode(), like=run.world.revision)
        if change.path in written
        else None
        for change in run.outcome.changes
        if change.path in paths
    }
    return computed == {c.path: c.after for c in revisions.changes(commit) if c.path in paths}


def went_as(decision: Decision | None, sides: tuple[Side, Side]) -> bool:
    """Return whether a commit moved an object as a decision says, `None` for not at all.

    So it is where an earlier version of ours wrote the same decision in other words.
    """
    before, after = (side.placed for side in sides)
    if decision is None:
        return before == after
    return (before, after) == (decision.before, decision.after)
