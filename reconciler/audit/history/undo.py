"""Undo: what takes a decision back, as files that get an earlier version again.

What a pass decides follows from its inputs, so that a decision that is reverted alone is decided
again. Undone are therefore its causes: the edits of people behind it, as they were before, and with
them the outputs of the objects that it moved, so that these are where they were. Where passes write
to a branch of their own, an annotation on each object asks the next pass for the same. What a
failure, a score or time has caused cannot be undone by files, and says what to do instead. What was
changed again later is somebody's, and stays unless it is asked for.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.audit.fleet.placed import named, owner_of, placed_on
from reconciler.audit.history.revisions import (
    Commit,
    FileChange,
    Revisions,
    UnreadableRevision,
    claim_of,
    is_by_hand,
    pass_of,
)
from reconciler.audit.proof import edited_outputs
from reconciler.audit.replay import Replay, Run
from reconciler.core.dialects import PLACED
from reconciler.core.message import files_behind
from reconciler.core.record import last_pass
from reconciler.core.rounds import next_world
from reconciler.core.safety import is_of
from reconciler.delivery.settings import folders_of_passes
from reconciler.errors import UsageError
from reconciler.manifests.paths import ALONE, output_path
from reconciler.model.decision import CauseKind, Decision, Placed, placed_text
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, replace
from reconciler.model.text import short_id
from reconciler.model.world import Manifest, World
from reconciler.staging.staged_delivery import (
    STAGED_DELIVERY,
    OrderedAction,
    decode_staged_delivery,
    given_otherwise,
    readable_staged_record,
)

_INSTEAD: Mapping[CauseKind, str] = {
    CauseKind.EVICTED: "bring the cluster back, or uncordon it, then rebalance the object",
    CauseKind.CLUSTER_GONE: "bring the cluster back, then rebalance the object",
    CauseKind.SCORES_CHANGED: "scores decide it; edit the placement, or suspend the object",
    CauseKind.CLUSTERS_CHANGED: "the clusters decide it; edit the placement, or suspend the object",
}
_ORDERED: Mapping[OrderedAction, str] = {
    OrderedAction.APPROVE: "order a stop or a rollback by reconciler rollout",
    OrderedAction.STOP: "order that it goes on by reconciler rollout resume",
    OrderedAction.RESUME: "order a stop or a rollback by reconciler rollout",
    OrderedAction.ROLLBACK: "the next change of content begins another run",
}
_NOBODY = "no edit of a file caused it; rebalance or suspend the object"


class UndoneObject(NamedTuple):
    """An object that goes back, and where it is then."""

    subject: str
    placed: Placed

    def __str__(self) -> str:
        return f"{self.subject}: back to {placed_text(self.placed)}"


class NotUndone(NamedTuple):
    """What stays: an object or a file, and why."""

    subject: str
    why: str

    def __str__(self) -> str:
        return f"{self.subject} stays: {self.why}"


class RestoreRequest(NamedTuple):
    """An object that is to go on from where a commit of the branch with the outputs has it.

    `path` is the file that has it at the head, `""` if none does.
    """

    about: ObjectKey
    commit: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """What takes a commit back.

    Attributes:
        commit: Which.
        files: Path to the id of the blob that it has again, `None` for a file that goes; sorted.
        requests: What the next pass is asked to restore, as passes write to another branch.
        objects: The objects that go back, sorted.
        stays: What is not taken back, and why.
    """

    commit: Commit
    files: Mapping[str, str | None]
    requests: tuple[RestoreRequest, ...] = ()
    objects: tuple[UndoneObject, ...] = ()
    stays: tuple[NotUndone, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass computed again: its commit, its inputs, and the edits that it is asked about.

    `took` are the files of all edits that it took.
    """

    commit: Commit
    inputs: str
    run: Run
    edits: Mapping[str, FileChange]
    took: frozenset[str]


def undo_of(commit: Commit, head: str, replay: Replay, *, passes: str, also: bool = False) -> Undo:
    """Return what takes a commit back: one of a pass, or one of a person with what came of it.

    Args:
        commit: Which.
        head: Full hex id of the newest commit of people.
        passes: The same of the branch that passes move; equal where that is one branch.
        replay: Computes its pass again.
        also: Whether what was changed again later is taken back as well.

    Raises:
        UsageError: There is nothing that could be taken back, or its pass cannot be computed.
    """
    if claim_of(commit) is not None:
        return _undo_of_pass(_computed(commit, replay), commit, head, replay, also=also)
    found = _undo_of_person(commit, head, replay, passes=passes, also=also)
    stand = tuple(_orders_that_stand(commit, passes, replay.revisions, found.files))
    return replace(found, stays=(*found.stays, *stand)) if stand else found


def _orders_that_stand(
    commit: Commit, passes: str, revisions: Revisions, files: Container[str]
) -> Iterator[NotUndone]:
    """Yield the orders of a commit that the present runs have carried out already.

    Args:
        commit: That gave them.
        passes: The newest commit of the branch that passes move.
        revisions: They.
        files: That are taken back.
    """
    sides = (commit.parent, commit.revision, passes)
    worlds = [revisions.world_at(one) for one in sides if one is not None]
    if len(worlds) < len(sides) or any(isinstance(one, UnreadableRevision) for one in worlds):
        return
    before, after, now = (one for one in worlds if isinstance(one, World))
    for manifest in after.of_kind(*STAGED_DELIVERY):
        if manifest.origin.path not in files:
            continue
        earlier, output = before.inputs.get(manifest.key), now.outputs.get(manifest.key)
        known = () if earlier is None else decode_staged_delivery(earlier.body).orders
        run = None if output is None else readable_staged_record(output.body).run
        for order in decode_staged_delivery(manifest.body).orders:
            done = run is not None and order.run == run.id and order.text in run.heeded
            if order not in known and done:
                subject = f"{order.action} of run {order.run}"
                yield NotUndone(subject, f"it was carried out; {_ORDERED[order.action]}")


def _undo_of_person(commit: Commit, head: str, replay: Replay, *, passes: str, also: bool) -> Undo:
    """Return what takes a commit of a person back, with what came of it."""
    revisions = replay.revisions
    own = {earlier.path: earlier for earlier in revisions.changes(commit)}
    if edited_outputs(own.values(), revisions.layout):
        record = {output_path(revisions.layout.output_root, key) for key in ALONE}
        own = {path: change for path, change in own.items() if path not in record}
        return _undo_of_files(own, commit, head, revisions, also=also)
    took = None
    for earlier in revisions.between(commit.revision, passes):  # the newest first
        if not is_by_hand(earlier):
            if not _took(earlier, commit, revisions):
                break
            took = earlier
    if took is None:
        return _undo_of_files(own, commit, head, revisions, also=also)
    computed = replace(_computed(took, replay), edits=own)
    return _undo_of_pass(computed, commit, head, replay, also=also)


def _undo_of_files(
    own: Mapping[str, FileChange], commit: Commit, head: str, revisions: Revisions, *, also: bool
) -> Undo:
    """Return what takes the files of a commit of a person back, outputs included."""
    files, stays = _restored(own, commit.revision, head, revisions, also=also)
    if not files:
        why = "; ".join(map(str, stays)) or f"{short_id(commit.revision)} is undone already"
        raise UsageError(why)
    objects = tuple(_returned(files, commit, head, revisions))
    return Undo(commit=commit, files=files, objects=objects, stays=tuple(stays))


def _returned(
    files: Container[str], commit: Commit, head: str, revisions: Revisions
) -> Iterator[UndoneObject]:
    """Yield the objects that are elsewhere once some files are as they were before a commit."""
    if commit.parent is None:
        return
    before, now = (revisions.world_at(one) for one in (commit.parent, head))
    if isinstance(before, UnreadableRevision) or isinstance(now, UnreadableRevision):
        return
    touched = (one for side in (before, now) for one in side.outputs.values())
    owners = {
        one.key if one.key[:2] in PLACED else owner_of(one.key, one.body)
        for one in touched
        if one.origin.path in files
    }
    for owner in sorted(one for one in owners if one is not None):
        placed = placed_on(before, owner)
        if placed != placed_on(now, owner):
            about = named(before, owner)
            subject = f"{about.namespace}/{about.name}" if about.namespace else about.name
            yield UndoneObject(subject, placed)


def _took(later: Commit, commit: Commit, revisions: Revisions) -> bool:
    """Return whether a commit is the one of a pass that read another commit."""
    claim = claim_of(later)
    inputs = None if claim is None else claim.inputs
    return inputs is not None and revisions.leads_to(commit.revision, inputs)


def _computed(commit: Commit, replay: Replay) -> _Pass:
    """Return the pass that made a commit, computed again."""
    revisions, claim = replay.revisions, claim_of(commit)
    run = replay.run_again(commit)
    if claim is None or claim.inputs is None or isinstance(run, UnreadableRevision):
        why = run.reason if isinstance(run, UnreadableRevision) else "its trailers are not ours"
        raise UsageError(f"{short_id(commit.revision)} cannot be undone: {why}")
    last = last_pass(run.world.outputs)
    if last is None:
        first = f"{short_id(commit.revision)} is the first pass"
        raise UsageError(f"{first}; nothing was placed before it")
    edits = revisions.differences(last.revision, claim.inputs)
    own = {one.path: one for one in edits if not revisions.layout.is_output(one.path)}
    return _Pass(commit, claim.inputs, run, own, frozenset(own))


def _undo_of_pass(
    computed: _Pass, commit: Commit, head: str, replay: Replay, *, also: bool
) -> Undo:
    """Return what takes a pass back, as far as the edits are concerned that it is said to take."""
    revisions, world = replay.revisions, computed.run.world
    now = replay.revisions.world_at(head)
    if isinstance(now, UnreadableRevision):
        raise UsageError(f"{short_id(head)} cannot be read: {now.reason}")
    causes: dict[str, FileChange] = {}
    refused = set[str]()
    undone: list[Decision] = []
    stays: list[NotUndone] = []
    for decision in computed.run.outcome.decisions:
        behind = files_behind(decision, world) & computed.edits.keys()
        if decision.before == decision.after or (commit is not computed.commit and not behind):
            continue
        if decision.cause.kind is CauseKind.EVICTED or not behind:
            instead = _INSTEAD.get(decision.cause.kind, _NOBODY)
            stays.append(NotUndone(decision.subject, f"{decision.cause}; {instead}"))
            refused |= behind
            continue
        causes |= {path: computed.edits[path] for path in behind}
        if not also and placed_on(now, decision.key) != decision.after:
            stays.append(NotUndone(decision.subject, "it was decided again later (--also)"))
            continue
        undone.append(decision)
    if commit is not computed.commit:  # all that the person edited, but for what failed
        others = computed.edits.keys() - refused
        causes |= {path: computed.edits[path] for path in others}
    causes = _with_homes(causes, computed, revisions)
    files, later = _restored(causes, computed.inputs, head, revisions, also=also)
    if later and files:
        later += _without_halves(files, later, _moved_between(computed, revisions))
    gone = _gone(undone, files, computed, now, revisions)
    stays += [NotUndone(one.subject, "no file has it any more") for one in gone]
    undone = [one for one in undone if one not in gone]
    apart = revisions.layout.apart
    requests = tuple(_requests(computed, undone, now)) if apart else ()
    stands = commit is computed.commit and not causes  # it would be delivered again
    if not (apart or stands):
        whole = not stays and not _others_taken(computed, causes, revisions)
        outputs = _outputs_of(computed, undone, revisions, whole=whole)
        files |= {change.path: change.before for change in outputs}
    objects = tuple(UndoneObject(one.subject, one.before) for one in undone)
    if not files:
        raise UsageError(
            "; ".join(map(str, (*stays, *later)))
            or f"{short_id(commit.revision)} moved nothing, so there is nothing to undo"
        )
    return Undo(
        commit=commit,
        files=dict(sorted(files.items())),
        requests=requests,
        objects=objects,
        stays=(*stays, *later),
    )


def _with_homes(
    causes: dict[str, FileChange], computed: _Pass, revisions: Revisions
) -> dict[str, FileChange]:
    """Return edits with those of the files that their objects came from, or went to.

    Where a file was renamed, or a document moved, one without the other would leave an object in
    no file, or in two.
    """
    if causes.keys() >= computed.edits.keys():
        return causes
    moved = _moved_between(computed, revisions)
    homes = dict(causes)
    while True:
        near = {path for pair in moved if pair & homes.keys() for path in pair - homes.keys()}
        if not (more := near & computed.edits.keys()):
            return homes
        homes |= {path: computed.edits[path] for path in more}


def _moved_between(computed: _Pass, revisions: Revisions) -> Sequence[frozenset[str]]:
    """Return the pairs of files between which objects moved by the edits that a pass took."""
    present = computed.run.world.inputs
    pairs = {
        frozenset((manifest.origin.path, present[key].origin.path))
        for key, manifest in _inputs_before(computed, revisions).items()
        if key in present and manifest.origin.path != present[key].origin.path
    }
    return sorted(pairs, key=sorted)


def _without_halves(
    files: dict[str, str | None], later: Iterable[NotUndone], moved: Sequence[frozenset[str]]
) -> list[NotUndone]:
    """Take files out whose objects moved from or to one that stays; return what stays with it."""
    stays = {one.subject for one in later}
    halves: list[NotUndone] = []
    while half := next((pair for pair in moved if pair & stays and pair & files.keys()), None):
        [path] = half & files.keys()
        [other] = half - {path}
        del files[path]
        stays.add(path)
        halves.append(NotUndone(path, f"its objects moved from or to {other}, which stays"))
    return halves


def _gone(
    undone: Iterable[Decision],
    files: Mapping[str, str | None],
    computed: _Pass,
    now: World,
    revisions: Revisions,
) -> list[Decision]:
    """Return decisions about objects that people took away since, and that no file brings back."""
    abouts = [(one, named(computed.run.world, one.key)) for one in undone if one.before]
    missing = [(one, about) for one, about in abouts if about not in now.inputs]
    if not missing:
        return []
    before = _inputs_before(computed, revisions)
    back = {key for key, one in before.items() if files.get(one.origin.path) is not None}
    return [one for one, about in missing if about not in back]


def _inputs_before(computed: _Pass, revisions: Revisions) -> Mapping[ObjectKey, Manifest]:
    """Return what people had written at the pass before."""
    last, read = last_pass(computed.run.world.outputs), pass_of(computed.commit)
    if last is None or read is None:
        return {}
    former = revisions.world(last.revision, read.outputs)
    if isinstance(former, UnreadableRevision):
        raise UsageError(f"{short_id(last.revision)} cannot be read: {former.reason}")
    return former.inputs


def _others_taken(computed: _Pass, undone: Container[str], revisions: Revisions) -> bool:
    """Return whether a pass took edits of other files with objects; what it delivered has both."""
    others = {path for path in computed.took if path not in undone}
    if not others:
        return False
    sides = (_inputs_before(computed, revisions), computed.run.world.inputs)
    return any(one.origin.path in others for side in sides for one in side.values())


def _restored(
    changes: Mapping[str, FileChange], at: str, head: str, revisions: Revisions, *, also: bool
) -> tuple[dict[str, str | None], list[NotUndone]]:
    """Return files as they were before some changes, and those that were changed again later.

    Args:
        changes: By path.
        at: Full hex id of the commit in which they are made.
        head: That of the newest commit.
        revisions: Where both are.
        also: Whether what was changed again is taken back as well.
    """
    since = {one.path: one.after for one in revisions.differences(at, head)}
    files: dict[str, str | None] = {}
    later: list[NotUndone] = []
    for path, change in changes.items():
        present = since.get(path, change.after)
        if present == change.before:
            continue
        if present == change.after or also:
            files[path] = change.before
        else:
            later.append(NotUndone(path, "it was edited again later (--also)"))
    return files, later


def _requests(computed: _Pass, undone: Iterable[Decision], now: World) -> Iterator[RestoreRequest]:
    """Yield what the next pass is asked for, so that objects are where they were before a pass."""
    read = pass_of(computed.commit)
    outputs = None if read is None else read.outputs
    for decision in undone:
        if outputs is None or not decision.before:
            continue  # it was nowhere, so there is nothing to go on from
        about = named(computed.run.world, decision.key)
        manifest = now.inputs.get(about)
        yield RestoreRequest(about, outputs, "" if manifest is None else manifest.origin.path)


def _outputs_of(
    computed: _Pass, undone: Iterable[Decision], revisions: Revisions, *, whole: bool
) -> Iterator[FileChange]:
    """Yield the changes of a pass to the files of some objects; of delivery if all goes back.

    What a run has given a cluster stands in its record, which no undo takes back: the next pass
    would deliver it again.
    """
    world = computed.run.world
    after = next_world(world, computed.run.outcome)
    keys = {decision.key for decision in undone}
    goes_back = whole and not _gives_by_stage(world, after)
    folders = tuple(f"{root}/" for root in folders_of_passes(after)[1:]) if goes_back else ()
    written = {one.origin.path: one for side in (world, after) for one in side.outputs.values()}
    for change in revisions.changes(computed.commit):
        output = written.get(change.path)
        mine = output is not None and is_of(output.key, output.body, keys)
        if mine or change.path.startswith(folders):
            yield change


def _gives_by_stage(before: World, after: World) -> bool:
    """Return whether clusters have other versions of staged content after a pass than before it."""
    changed = given_otherwise(before, after)
    outputs = (one for world in (before, after) for one in world.outputs_of_kind(STAGED_DELIVERY))
    records = (readable_staged_record(one.body) for one in outputs)
    return any(one.objects[key].before for one in records for key in changed & one.objects.keys())
