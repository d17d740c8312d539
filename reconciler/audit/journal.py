"""The decisions about one object over time, and which commits of people caused them."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from reconciler.audit.revisions import Claim, Commit, Revisions, Unreadable, claim_of
from reconciler.core.changes import WriteFile
from reconciler.core.reconcile import reconcile
from reconciler.manifests.paths import blob_id, output_path
from reconciler.model.decision import Decision, Placed
from reconciler.model.identity import ClusterName, ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One commit that mattered to an object.

    Attributes:
        commit: The commit that wrote its output.
        at: Moment of the pass, of a person's commit that of the commit.
        decision: What the pass decided, `None` where a person edited the output or where the pass
            cannot be computed again.
        causes: The commits of people that brought it about, the oldest first; of several between
            two passes the first that is enough. Empty where time alone was the cause.
        note: What must be said of it besides, `""` for nothing.
    """

    commit: Commit
    at: datetime
    decision: Decision | None
    causes: tuple[Commit, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Blame:
    """Since which event an object is on a cluster, with how many replicas now."""

    cluster: ClusterName
    replicas: int
    event: Event


def tell_history(
    key: ObjectKey, lineage: Sequence[Commit], touched: Container[str], revisions: Revisions
) -> Iterator[Event]:
    """Yield what happened to an object, the newest first.

    Args:
        key: The output that holds the decision.
        lineage: The whole history along first parents, the newest first.
        touched: The revisions among them that changed the file of this output.
        revisions: Where worlds come from.
    """
    for i, commit in enumerate(lineage):
        if commit.revision not in touched:
            continue
        claim = claim_of(commit)
        if claim is None or claim.inputs is None or claim.at is None:
            note = "edited by hand"
            yield Event(commit=commit, at=commit.committed_at, decision=None, note=note)
            continue
        before = lineage[i + 1 :]
        people = tuple(takewhile(lambda c: claim_of(c) is None, before))
        since = (*people, *before[len(people) : len(people) + 1])
        event = _event(key, commit, claim, claim.at, since, revisions)
        if event is not None:
            yield event


def tell_blame(events: Iterable[Event], present: Placed) -> list[Blame]:
    """Return for each cluster that an object is on the event that put it there, by name.

    Args:
        events: What happened to it, the newest first; read no further than needed.
        present: Where it is now. A pass that keeps what a person wrote into a decision decides
            nothing, so the events alone do not tell.
    """
    wanted = dict(present)
    found: dict[ClusterName, Blame] = {}
    by_hand: Event | None = None
    for event in events:
        if event.decision is None:
            by_hand = event
            continue
        before = {name for name, _ in event.decision.before}
        after = {name for name, _ in event.decision.after}
        for name in sorted(wanted.keys() - found.keys()):
            if name not in after and by_hand is not None:
                found[name] = Blame(name, wanted[name], by_hand)
            elif name in after and name not in before:
                found[name] = Blame(name, wanted[name], event)
        by_hand = None
        if found.keys() >= wanted.keys():
            break
    if by_hand is not None:
        rest = wanted.keys() - found.keys()
        found.update((name, Blame(name, wanted[name], by_hand)) for name in rest)
    return [found[name] for name in sorted(found)]


def _event(
    key: ObjectKey,
    commit: Commit,
    claim: Claim,
    now: datetime,
    since: tuple[Commit, ...],
    revisions: Revisions,
) -> Event | None:
    """Compute a pass again; `None` if it decided nothing about the object."""
    world = revisions.world(claim.inputs or "", commit.parent or claim.inputs or "")
    if isinstance(world, Unreadable):
        return Event(commit=commit, at=now, decision=None, note=world.reason)
    outcome = reconcile(world, now)
    decision = next((d for d in outcome.decisions if d.key == key), None)
    if decision is None or (decision.before == decision.after and not decision.problem):
        return None
    path = output_path(world.output_root, key)
    written = {c.path: c.content for c in outcome.changes if isinstance(c, WriteFile)}
    actual = next((c.after for c in revisions.changes(commit) if c.path == path), None)
    content = written.get(path)
    expected = None if content is None else blob_id(content.encode(), like=world.revision)
    note = "" if actual == expected else "the commit holds something else; see reconciler verify"
    causes = _causes(decision, since, commit, now, revisions)
    return Event(commit=commit, at=now, decision=decision, causes=causes, note=note)


def _causes(
    decision: Decision,
    since: tuple[Commit, ...],
    commit: Commit,
    now: datetime,
    revisions: Revisions,
) -> tuple[Commit, ...]:
    """Return the first of people's commits whose inputs are enough for a decision.

    A pass takes several commits together; the same pass over the inputs of each tells which one
    mattered. If those of the pass before are enough, time alone was the cause.

    Args:
        decision: What the pass decided.
        since: People's commits since the pass before, the newest first, then that pass if any.
        commit: The commit of the pass.
        now: Its moment.
        revisions: Where worlds come from.
    """
    for candidate in reversed(since):
        world = revisions.world(candidate.revision, commit.parent or candidate.revision)
        if isinstance(world, Unreadable):
            continue
        found = (d for d in reconcile(world, now).decisions if d.key == decision.key)
        if any((d.before, d.after) == (decision.before, decision.after) for d in found):
            return () if claim_of(candidate) is not None else (candidate,)
    return tuple(c for c in reversed(since) if claim_of(c) is None)
