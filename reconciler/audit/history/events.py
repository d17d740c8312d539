"""The events of commits: which outputs each changed, and upstream's events for that change.

Upstream's controllers record an event when they act; here the act is a commit, and the files
before and after say which event it was. Reasons and messages are upstream's, so that users and
their alerts find the words they know. Where upstream only sets a condition, the event has the
reason of that condition.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.audit.fleet.placed import owner_of
from reconciler.audit.history.revisions import Commit, FileChange, pass_of
from reconciler.core.changes import Outcome
from reconciler.core.dialects import DIALECTS, KINDS, PLACED, RUNS, dialect_of
from reconciler.manifests.identity import Identity, identify
from reconciler.manifests.paths import folder_of
from reconciler.manifests.text.canonical import read_canonical
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import WARNING, ObjectEvent, OutputChange, UpstreamEvent
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.rebalance import view as rebalance_events
from reconciler.rebalance.target import REBALANCER, TRIGGER
from reconciler.staging import view as staged_events
from reconciler.staging.staged_delivery import STAGED_DELIVERY

EDITED = "OutputEdited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event.

    Attributes:
        key: The binding or placement that it is about.
        told: What it says.
        at: Moment of the pass, of a person's commit that of the commit.
        commit: The commit that did it.
    """

    key: ObjectKey
    told: UpstreamEvent
    at: datetime
    commit: Commit


def happened(
    key: ObjectKey,
    before: Body | None,
    after: Body | None,
    beside: Sequence[Body] = (),
    evicted: Sequence[str] = (),
) -> Iterator[ObjectEvent]:
    """Yield what one output's change was, each with the object that it is about, in order.

    Args:
        key: Of the output.
        before: What it held, `None` if it is new.
        after: What it holds, `None` if it is gone: then nothing is told, as upstream does.
        beside: The other outputs as the same commit left them.
        evicted: Clusters that it was made to leave, where the files do not say so.
    """
    if after is None:
        return
    change = OutputChange(key=key, before=before or {}, after=after, beside=beside, evicted=evicted)
    if (key.group, key.kind) in (REBALANCER, TRIGGER):
        yield from rebalance_events.events_of(change)
    elif (key.group, key.kind) == STAGED_DELIVERY:
        yield from staged_events.events_of(change)
    elif (dialect := dialect_of(key.group)) is not None:
        yield from dialect.view().changes.events(change)


def is_edited(key: ObjectKey, body: Body) -> bool:
    """Return whether the decision in an output is another one than a pass wrote there."""
    dialect = dialect_of(key.group)
    return dialect is not None and dialect.view().changes.is_edited(body)


def edited(key: ObjectKey, body: Body, commit: Commit, *, gone: bool, ours: bool) -> ObjectEvent:
    """Return the event of a person's edit of an output; that of a part is about its placement.

    Args:
        key: Of the output.
        body: What it holds, or held if it is gone.
        commit: The person's.
        gone: Whether the file was removed.
        ours: Whether the commit bears the name under which passes are committed.
    """
    owner = owner_of(key, body)
    did = "removed" if gone else "edited"
    did = did.capitalize() if owner is None else f"{key.kind} {key.name} {did}"
    by = "under the name of the reconciler," if ours else "by"
    return owner or key, UpstreamEvent(
        WARNING, EDITED, f"{did} by hand {by} {commit.author}: {commit.subject}"
    )


FOLDERS = frozenset(
    folder_of(*kind)
    for kind in (
        *KINDS.removable,
        *PLACED,
        *(part for one in DIALECTS for part in one.parts.values()),
        *RUNS,
    )
)
"""Where the outputs stand that events are told from."""

Texts = Mapping[str, bytes]
"""Blob id to content."""

Changed = tuple[ObjectKey, Body | None, Body | None]
"""An output, what it held before, and what it holds; `None` where it is not there."""


def needed(changes: Sequence[FileChange], layout: RepositoryLayout) -> Iterator[str]:
    """Yield the ids of the blobs that the events of a commit are told from."""
    for change in changes:
        if _is_told(change.path, layout):
            yield from (blob for blob in (change.before, change.after) if blob is not None)


def chronicle(
    commit: Commit,
    changes: Sequence[FileChange],
    texts: Texts,
    layout: RepositoryLayout,
    again: Callable[[], Outcome | None] = lambda: None,
    *,
    names: Collection[str] = (),
    mentions: str = "",
) -> list[Happening]:
    """Return the events of one commit, sorted by object, in upstream's order for each.

    A pass writes the digest of each decision beside it: one that differs was put into the commit
    afterwards, under its name.

    Args:
        commit: A pass, or a person's commit: then its edits of outputs are told.
        changes: What it changed.
        texts: Every blob that `needed` names.
        layout: Where the outputs are.
        again: Computes the pass again, `None` if it cannot be; asked only for what its files do
            not say: what became of a rebalancer that went, and evictions that it began and ended.
        names: Authors of the passes.
        mentions: The name of an object: only outputs in which it occurs are looked at, so all of
            its own events are told, and few others. `""` for all.
    """
    outputs = changed_outputs(changes, texts, layout, mentions)
    found_pass = pass_of(commit)
    if found_pass is None:
        ours = commit.author in names
        announced = [
            edited(key, after or before or {}, commit, gone=after is None, ours=ours)
            for key, before, after in outputs
        ]
        at = commit.committed_at
    else:
        amended = {key: after for key, _, after in outputs if after and is_edited(key, after)}
        announced = [edited(k, body, commit, gone=False, ours=True) for k, body in amended.items()]
        unamended = [output for output in outputs if output[0] not in amended]
        announced += _of_pass(unamended, _cut(changes, layout), again)
        at = found_pass.at
    happenings = [
        Happening(key=about, told=said, at=at, commit=commit) for about, said in announced
    ]
    return sorted(happenings, key=lambda happening: happening.key)


def asks_beside(changes: Sequence[FileChange], texts: Texts, layout: RepositoryLayout) -> bool:
    """Return whether the events of some outputs are told from the others of a commit, too."""
    for key, before, after in changed_outputs(changes, texts, layout):
        dialect = dialect_of(key.group)
        if dialect is not None and dialect.view().changes.asks_beside(before or {}, after or {}):
            return True
    return False


def changed_outputs(
    changes: Sequence[FileChange], texts: Texts, layout: RepositoryLayout, mentions: str = ""
) -> list[Changed]:
    """Return the outputs that a commit changed, those that events are told from.

    Args:
        changes: What it changed.
        texts: Every blob that `needed` names.
        layout: Where the outputs are.
        mentions: A text that occurs in them, `""` for all of them.
    """
    word = mentions.encode()  # a pass may write thousands; parsing one costs a thousand searches
    return [
        found
        for change in changes
        if _is_told(change.path, layout)
        if any(word in texts.get(blob, b"") for blob in (change.before, change.after) if blob)
        for found in [_changed(change, texts)]
        if found is not None
    ]


def _of_pass(
    outputs: Sequence[Changed], cut: frozenset[str], again: Callable[[], Outcome | None]
) -> Iterator[ObjectEvent]:
    """Yield the events of a pass."""
    ended = {
        key
        for key, before, after in outputs
        if _may_hide_eviction(key, before or {}, after or before or {})
    }
    outcome = again() if ended or cut else None
    decisions = () if outcome is None else outcome.decisions
    evictions = {d.key: d.evicted for d in decisions if d.key in ended}
    bodies = [after for _, _, after in outputs if after is not None]
    for key, before, after in outputs:
        yield from happened(key, before, after, bodies, evictions.get(key, ()))
    records = {key: before for key, before, _ in outputs}
    removals = () if outcome is None else outcome.removals
    for removal in (removal for removal in removals if removal.path in cut):
        yield from happened(removal.key, records.get(removal.key), removal.body)


def _may_hide_eviction(key: ObjectKey, before: Body, after: Body) -> bool:
    """Return whether an eviction may have begun and ended between two states of an output."""
    dialect = dialect_of(key.group) if (key.group, key.kind) in PLACED else None
    return dialect is not None and dialect.view().changes.may_hide_eviction(before, after)


def _cut(changes: Sequence[FileChange], layout: RepositoryLayout) -> frozenset[str]:
    """Return people's files that a pass changed: it took a rebalancer out that is over."""
    paths = (change.path for change in changes)
    return frozenset(one for one in paths if not one.startswith("/") and not layout.is_output(one))


def _changed(change: FileChange, texts: Texts) -> Changed | None:
    """Return an output before and after a commit, `None` if neither can be read."""
    before, after = (_output(change.path, blob, texts) for blob in (change.before, change.after))
    output = after or before
    return None if output is None else (output[0], before and before[1], after and after[1])


def _is_told(path: str, layout: RepositoryLayout) -> bool:
    """Return whether changes of a file are told as events: the rest need not be read."""
    folder = path.removeprefix(f"{layout.output_root}/").partition("/")[0]
    return layout.is_output(path) and folder in FOLDERS


def _output(path: str, blob: str | None, texts: Texts) -> tuple[ObjectKey, Body] | None:
    """Return an output and whose it is, `None` if it cannot be read."""
    body = None if blob is None else _body(texts.get(blob, b""), path)
    if body is None:
        return None
    match identify(body, KINDS):
        case Identity() as found:
            return ObjectKey(found.group, found.kind, found.namespace, found.name), body
        case _:
            return None


def _body(data: bytes, path: str) -> Body | None:
    """Return what an output holds; as passes write it, it is read ten times as fast."""
    document = read_canonical(data)
    if document is not None:
        return document
    documents = read(data, path).documents
    return documents[0].body if documents else None
