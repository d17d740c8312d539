"""Proof of a commit: what a pass would have written is compared with it, byte for byte.

The pass is computed on the commit before. One that says that it belongs elsewhere fails, whatever
was computed: whether a commit stands where it says is one rule for daemons and for `verify`.

The commit that adopts brings state of a live control plane, which no pass could compute. It names
that state in a trailer, by a digest of the files. That is no signature: whoever may push can write
it. It says that this state came whole from an import, over nothing that a pass had written.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from reconciler.audit.history.revisions import (
    Claim,
    Commit,
    FileChange,
    Provable,
    Revisions,
    UnreadableRevision,
    claim_of,
)
from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.message import FOR, CommitPurpose, Purpose, decision_line, purposes_in
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.record import last_pass
from reconciler.delivery.settings import folders_of_passes
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import RECORD, blob_id, output_path
from reconciler.model.identity import RepositoryLayout
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, replace
from reconciler.model.text import short_id
from reconciler.model.world import RULES, World
from reconciler.version import __version__

LONGEST_LINE = 120


@dataclass(frozen=True, slots=True)
class ProofFinding:
    """One thing that is not as it must be; `path` is `""` for the commit as a whole."""

    path: str
    message: str


class _Wanted(NamedTuple):
    """What a file must be after a pass: a blob, or `None` for absent; and the text, where known."""

    blob: str | None
    text: str | None = None


def skipped_edits(
    commit: Commit, claim: Claim, world: World, revisions: Provable
) -> dict[str, FileChange]:
    """Return what commits that a pass did not accept did to its folders, by path.

    A pass that names older outputs than those of the commit before it puts all of that back.
    """
    if not claim.outputs or commit.parent is None:
        return {}
    folders = tuple(f"{name}/" for name in folders_of_passes(world))
    differing = revisions.differences(claim.outputs, commit.parent)
    return {change.path: change for change in differing if change.path.startswith(folders)}


def find_differences(
    world: World,
    outcome: Outcome,
    changes: Mapping[str, FileChange],
    skipped: Mapping[str, FileChange],
    revisions: Provable,
    *,
    but: str = "",
) -> list[ProofFinding]:
    """Return where a commit is not what the pass would have written, sorted by path.

    Args:
        world: What the pass read.
        outcome: What it writes.
        changes: What the commit changed, by path.
        skipped: What it puts back, see `skipped_edits`.
        revisions: Where the commit is.
        but: A path that does not count.
    """
    wanted = {path: _Wanted(change.before) for path, change in skipped.items()}
    for file in outcome.files:
        text = file.content if isinstance(file, WriteFile) else None
        blob = None if text is None else blob_id(text.encode(), like=world.revision)
        wanted[file.path] = _Wanted(blob, text)
    lines = {
        output_path(world.output_root, decision.key): decision_line(decision)
        for decision in outcome.decisions
    }
    findings = []
    for path in sorted((wanted.keys() | changes.keys()) - {but}):
        change = changes.get(path)
        if change is None and path in skipped and skipped[path].after == wanted[path].blob:
            continue  # what was skipped had it so already
        message = _difference(wanted.get(path), change, revisions)
        if message:
            decision = f"; the pass decides {lines[path]}" if path in lines else ""
            findings.append(ProofFinding(path, f"{message}{decision}"))
    return findings


def _difference(wanted: _Wanted | None, change: FileChange | None, revisions: Provable) -> str:
    """Return how one file is not what the pass would have written, `""` if it is."""
    if wanted is None:
        return "a pass would leave it as it is, the commit changes it"
    if change is None:
        verb = "remove" if wanted.blob is None else "write"
        return f"a pass would {verb} it, the commit does not"
    if wanted.blob is None:
        return "" if change.after is None else "a pass would remove it, the commit keeps it"
    if change.after is None:
        return "a pass would write it, the commit removes it"
    if not change.plain:
        return "it is not a plain file"
    if change.after == wanted.blob:
        return ""
    text = revisions.text(wanted.blob) if wanted.text is None else wanted.text
    return _first_difference(text, revisions.text(change.after))


def _first_difference(expected: str, actual: str) -> str:
    """Quote the first line that differs."""
    ours, theirs = expected.splitlines(), actual.splitlines()
    number = next(
        (i for i, (mine, other) in enumerate(zip(ours, theirs, strict=False)) if mine != other),
        min(len(ours), len(theirs)),
    )
    return f"line {number + 1} must be {_line(ours, number)} and is {_line(theirs, number)}"


def _line(lines: Sequence[str], number: int) -> str:
    """Quote a line, cut to a length that can be read."""
    if number >= len(lines):
        return "absent"
    line = lines[number].strip()
    return f'"{line[:LONGEST_LINE]}{"…" if len(line) > LONGEST_LINE else ""}"'


MOST_TOLD = 20  # findings of one commit that are told one by one
TRIGGERED_AT = re.compile(r"^  rescheduleTriggeredAt: .{1,60}$", re.MULTILINE)
FIRST_YEAR, LAST_YEAR = 1970, 2999  # as the command line has it


class ProofState(StrEnum):
    """What became of a commit's proof."""

    PROVEN = "proven"
    INPUT = "input"
    ADOPTED = "adopted"
    OTHER_VERSION = "other version"
    OTHER_RULES = "other rules"
    DIFFERENT = "different"
    FORGED = "forged"
    REVERTED = "reverted"
    TAMPERED = "tampered"
    UNKNOWN = "unknown"

    @property
    def is_finding(self) -> bool:
        """Whether a person must look at it."""
        return self in (
            ProofState.DIFFERENT,
            ProofState.FORGED,
            ProofState.TAMPERED,
            ProofState.UNKNOWN,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was found out about one commit."""

    commit: Commit
    state: ProofState
    findings: tuple[ProofFinding, ...] = ()


def prove(commit: Commit, revisions: Provable, *, memo: Memo | None = None) -> Proof:
    """Prove one commit, or say what speaks against it.

    A commit with our trailers must be exactly what a pass makes of the inputs and reports that it
    names, the outputs of its first parent and the moment that it names. One that names older
    outputs puts them back first. Any other commit must leave the outputs alone, unless it adopts
    those of a live control plane.

    Args:
        commit: To be proven.
        revisions: Where it is.
        memo: What proofs of other commits remember, best of neighbours; it only saves work.
    """
    claim = claim_of(commit)
    changes = {change.path: change for change in revisions.changes(commit)}
    if claim is None or _is_elsewhere(changes, revisions.layout):
        return _of_a_person(commit, edited_outputs(changes.values(), revisions.layout), revisions)
    forged = _forged(commit, claim, revisions) if changes else "it changes nothing, a pass would"
    if forged or claim.inputs is None or claim.at is None or claim.rules is None:
        return _proof(commit, ProofState.FORGED, [ProofFinding("", forged)])
    if claim.rules != RULES:
        made = f"made by rules {claim.rules}, which this version does not recompute"
        return _proof(commit, ProofState.OTHER_RULES, [ProofFinding("", made)])
    outputs = claim.outputs or commit.parent
    world = revisions.world(claim.inputs, outputs, reports=claim.reports)
    if isinstance(world, UnreadableRevision):
        return _proof(commit, ProofState.UNKNOWN, [ProofFinding("", world.reason)])
    last = last_pass(world.outputs)
    if last is not None and _is_behind(claim, last.revision, revisions):
        old = f"Reconciled-From {short_id(claim.inputs)} is older than that of the pass before"
        return _proof(commit, ProofState.FORGED, [ProofFinding("", old)])
    if last is not None and claim.at <= last.at:
        at, before = format_moment(claim.at), format_moment(last.at)
        late = f"Reconciled-At is {at}, not later than the pass before at {before}"
        return _proof(commit, ProofState.FORGED, [ProofFinding("", late)])
    outcome = reconcile(world, claim.at, memo=memo)
    waiting = frozenset(r.path for r in outcome.removals if r.path not in changes)
    if waiting:  # a person may have been editing these, which nothing else depends on
        outcome = reconcile(world, claim.at, busy=waiting, memo=memo)
    if outcome.traces:
        stopped = [ProofFinding(one.fault.path, one.fault.message) for one in outcome.traces]
        return _proof(commit, ProofState.DIFFERENT, stopped)
    return _compare(commit, claim, world, outcome, changes, revisions)


def _of_a_person(commit: Commit, edited: Sequence[FileChange], revisions: Provable) -> Proof:
    """Return what became of a commit that is no pass's, given which outputs it changed."""
    if not edited:
        return Proof(commit=commit, state=ProofState.INPUT)
    if adopts([commit], edited):
        return Proof(commit=commit, state=ProofState.ADOPTED)
    findings = [_tampering(commit, change, revisions) for change in edited]
    return _proof(commit, ProofState.TAMPERED, findings)


def edited_outputs(changes: Iterable[FileChange], layout: RepositoryLayout) -> Sequence[FileChange]:
    """Return which changes are of outputs."""
    return [one for one in changes if layout.is_output(one.path)]


def _is_elsewhere(paths: Collection[str], layout: RepositoryLayout) -> bool:
    """Return whether a commit is the pass of another root of the same repository."""
    folder = f"/{layout.output_root}/"
    return bool(paths) and all(not layout.is_output(path) and folder in path for path in paths)


def _compare(
    commit: Commit,
    claim: Claim,
    world: World,
    outcome: Outcome,
    changes: Mapping[str, FileChange],
    revisions: Provable,
) -> Proof:
    """Hold the commit against what a pass would have written."""
    skipped = skipped_edits(commit, claim, world, revisions)
    if claim.version == __version__:
        findings = find_differences(world, outcome, changes, skipped, revisions)
        return _proof(commit, ProofState.DIFFERENT if findings else ProofState.PROVEN, findings)
    record = output_path(world.output_root, RECORD)  # it names the version
    findings = find_differences(world, outcome, changes, skipped, revisions, but=record)
    if not findings:
        return _proof(commit, ProofState.PROVEN, [])
    made = f"written by version {claim.version or '?'}, which decided otherwise than {__version__}"
    return _proof(commit, ProofState.OTHER_VERSION, [ProofFinding("", made)])


def _forged(commit: Commit, claim: Claim, revisions: Provable) -> str:
    """Return why the trailers cannot be those of a pass, `""` if they can."""
    if claim.inputs is None or claim.at is None or claim.version is None:
        return "it has not each of our three trailers once and readable"
    if claim.outputs is None:
        return "its trailer Reconciled-Outputs is not once the id of a commit"
    if claim.reports is None:
        return "its trailer Reconciled-Feedback is not once the id of a commit"
    if claim.rules is None:
        return "its trailer Reconciled-Rules is not once a number"
    if not FIRST_YEAR <= claim.at.year <= LAST_YEAR:
        return f"Reconciled-At is of the year {claim.at.year}"
    return _misplaced(commit, claim, claim.inputs, revisions)


def _misplaced(commit: Commit, claim: Claim, inputs: str, revisions: Provable) -> str:
    """Return why a commit cannot stand where it does, `""` if it can."""
    if not revisions.layout.apart:
        if len(commit.parents) != 1:
            return f"it has {len(commit.parents)} parents, a pass has one"
        if not revisions.leads_to(inputs, commit.parents[0]):
            return f"Reconciled-From {short_id(inputs)} is no ancestor of it"
        if commit.parents[0] not in (inputs, claim.over):
            return f"Reconciled-From {short_id(inputs)} is older than the commit before it"
    elif len(commit.parents) > 1:
        return f"it has {len(commit.parents)} parents"
    if claim.outputs and not _may_skip(commit, claim.outputs, inputs, revisions):
        return f"Reconciled-Outputs {short_id(claim.outputs)} is not between its inputs and itself"
    return ""


def _may_skip(commit: Commit, outputs: str, inputs: str, revisions: Provable) -> bool:
    """Return whether the outputs that a commit names are older than it, its inputs older yet."""
    if commit.parent is None or not revisions.leads_to(outputs, commit.parent):
        return False
    return revisions.layout.apart or revisions.leads_to(inputs, outputs)


def _is_behind(claim: Claim, last: str, revisions: Provable) -> bool:
    """Return whether inputs that may be older than the commit before are those of an older pass."""
    if claim.inputs is None or claim.inputs == last or not (revisions.layout.apart or claim.over):
        return False
    return revisions.leads_to(claim.inputs, last)


def _tampering(commit: Commit, change: FileChange, revisions: Provable) -> ProofFinding:
    """Return that a person edited what is ours; one edit of theirs is a demand, and is met."""
    edited = f"edited by {commit.author}, only a pass writes below this folder"
    if change.before is None or change.after is None:
        return ProofFinding(change.path, edited)
    before, after = (
        TRIGGERED_AT.search(revisions.text(blob)) for blob in (change.before, change.after)
    )
    if after is None or (before is not None and before[0] == after[0]):
        return ProofFinding(change.path, edited)
    asks = "asks for a schedule afresh if it is later than the last one"
    return ProofFinding(change.path, f"{edited}; `{after[0].strip()}` {asks}")


def _proof(commit: Commit, state: ProofState, findings: Sequence[ProofFinding]) -> Proof:
    """Return the proof, its findings cut to what is told."""
    listed = tuple(findings[:MOST_TOLD])
    if len(findings) > MOST_TOLD:
        listed += (ProofFinding("", f"and {len(findings) - MOST_TOLD} more files"),)
    return Proof(commit=commit, state=state, findings=listed)


def held_to_history(
    proofs: Sequence[Proof], revisions: Revisions, *, branch: str | None, keys: Mapping[str, str]
) -> list[Proof]:
    """Return proofs with what only the commits around each tell.

    Whether it stands where it says, and by rules no older than those before it; and of a person's
    commit whether it merges what was adopted, or brings back what stood there before.

    Args:
        proofs: Of the commits of a history, the oldest first.
        revisions: Where they are.
        branch: Whose history it is, `None` if that is not known: then any branch will do.
        keys: Commit to the key that signed it; a key that has signed decisions is the daemon's.
    """
    placed = list(_held_to_places(proofs, branch=branch, keys=keys))
    adopted = list(_held_to_adoptions(list(_held_to_rules(placed, revisions)), revisions))
    return list(_held_to_reverts(adopted, revisions))


def _held_to_places(
    proofs: Sequence[Proof], *, branch: str | None, keys: Mapping[str, str]
) -> Iterator[Proof]:
    """Yield proofs, with a finding for each commit that says that it belongs elsewhere.

    Args:
        proofs: Of the commits of a history, the oldest first.
        branch: Whose history it is, `None` if that is not known: then any branch will do.
        keys: Commit to the key that signed it; a key that has signed decisions is the daemon's.
    """
    daemons: set[str] = set()
    for proof in proofs:
        commit = proof.commit
        said, key = said_purpose(commit.trailers), keys.get(commit.revision, "")
        here = said.branch if branch is None and said is not None else branch or ""
        ours = key in daemons
        why = misplacement(commit.trailers, branch=here, purpose=Purpose.DECISIONS, ours=ours)
        if not why and said is not None and said.purpose is Purpose.DECISIONS:
            daemons.update(filter(None, (key,)))
            why = "" if claim_of(commit) else f"it was signed for {place_of(said)}, and is no pass"
        yield proof if not why else _finding(proof, why)


def _held_to_rules(proofs: Sequence[Proof], revisions: Revisions) -> Iterator[Proof]:
    """Yield proofs, with a finding for each pass by older rules than those of a pass before it.

    What other rules made is not recomputed, so whoever forges a pass would name such rules. Rules
    only go up, so nothing that passes wrote comes to this.

    Args:
        proofs: Of the commits of a history, the oldest first.
        revisions: Where they are.
    """
    newest = 0
    if any(proof.state is ProofState.OTHER_RULES for proof in proofs):
        newest = _rules_before(proofs[0].commit.parent, revisions)
    for proof in proofs:
        claim = claim_of(proof.commit)
        rules = 0 if claim is None or claim.rules is None else claim.rules
        if proof.state is ProofState.OTHER_RULES and rules < newest:
            why = f"made by rules {rules} after a pass by rules {newest}: its trailers are forged"
            yield replace(proof, state=ProofState.FORGED, findings=(ProofFinding("", why),))
            continue
        newest = max(newest, rules)
        yield proof


def _held_to_adoptions(proofs: Sequence[Proof], revisions: Revisions) -> Iterator[Proof]:
    """Yield proofs; a merge of a commit that adopts brings the outputs that it adopted."""
    for proof in proofs:
        if proof.state is ProofState.TAMPERED and len(proof.commit.parents) > 1:
            edited = edited_outputs(revisions.changes(proof.commit), revisions.layout)
            brought = revisions.brought(proof.commit, [one.path for one in edited])
            if adopts(brought, edited):
                yield Proof(commit=proof.commit, state=ProofState.ADOPTED)
                continue
        yield proof


MOST_ANCESTORS = 1000  # whose outputs a commit is held against


def _held_to_reverts(proofs: Sequence[Proof], revisions: Revisions) -> Iterator[Proof]:
    """Yield proofs; who brings outputs back as an ancestor had them, all of them, reverts.

    That is how a decision is taken back, so it is no tampering: what stands there was decided, and
    is proven where it was. One file that is otherwise makes it tampering, and so does taking files
    away alone, unless the record of the pass goes with them.
    """
    record = output_path(revisions.layout.output_root, RECORD)
    for proof in proofs:
        earlier = ""
        if proof.state is ProofState.TAMPERED:
            edited = edited_outputs(revisions.changes(proof.commit), revisions.layout)
            brought = any(one.after or one.path == record for one in edited)
            if brought and all(one.plain for one in edited):
                paths = frozenset(one.path for one in edited)
                earlier = _ancestor_with(proof.commit, paths, revisions)
        if not earlier:
            yield proof
            continue
        said = f"reverted by {proof.commit.author}: outputs as they were in {short_id(earlier)}"
        yield _proof(proof.commit, ProofState.REVERTED, [ProofFinding("", said)])


def _ancestor_with(commit: Commit, paths: frozenset[str], revisions: Revisions) -> str:
    """Return the newest ancestor that has some files as a commit has them, `""` if none has."""
    revision = commit.parent
    for _ in range(MOST_ANCESTORS):
        if revision is None:
            return ""
        differing = {one.path for one in revisions.differences(revision, commit.revision)}
        if paths.isdisjoint(differing):
            return revision
        revision = revisions.commit_at(revision).parent
    return ""


def _rules_before(revision: str | None, revisions: Revisions) -> int:
    """Return the rules of the newest pass up to a commit, 0 if there is none."""
    while revision is not None:
        commit = revisions.commit_at(revision)
        claim = claim_of(commit)
        if claim is not None and claim.rules is not None:
            return claim.rules
        revision = commit.parent
    return 0


def _finding(proof: Proof, why: str) -> Proof:
    findings = (ProofFinding("", why), *proof.findings)
    return replace(proof, state=ProofState.FORGED, findings=findings)


UNSAID = "the daemon's key has signed it, and it does not say what for"
MANY = f"it has not one {FOR} that can be read"


def misplacement(
    trailers: Sequence[tuple[str, str]], *, branch: str, purpose: Purpose, ours: bool
) -> str:
    """Return why a commit does not count on a branch although its signature is good, `""` if so.

    What it says can only stop it. A person's commit need not say anything; one that does, such as
    one of another daemon, must name the branch.

    Args:
        trailers: Of the commit.
        branch: Where it stands.
        purpose: What commits of ours do on that branch.
        ours: Whether the daemon's own key signed it.
    """
    purposes = purposes_in(trailers)
    if not purposes:
        return UNSAID if ours else ""
    said = purposes[0]
    if said is None or len(purposes) > 1:
        return MANY
    if said.branch != branch:
        return f"it was signed for {place_of(said)}, not for {branch}"
    if ours and said.purpose is not purpose:
        return f"it was signed for {place_of(said)}, where only {purpose} count"
    return ""


def said_purpose(trailers: Sequence[tuple[str, str]]) -> CommitPurpose | None:
    """Return what a commit says that it is for, `None` if that is not one thing."""
    purposes = purposes_in(trailers)
    return purposes[0] if len(purposes) == 1 else None


def place_of(said: CommitPurpose) -> str:
    """Return in words where a commit belongs."""
    return f"{said.purpose} on {said.branch}"


ADOPTED = "Adopted-State"


def state_digest(files: Iterable[tuple[str, str]]) -> str:
    """Return by what adopted state is known: path and blob id of each of its files."""
    return digest(sorted(map(list, files)))


def adopts(commits: Iterable[Commit], edited: Sequence[FileChange]) -> bool:
    """Return whether one of some commits says that it adopts just these outputs.

    Args:
        commits: The one that changed them, or those that it merged.
        edited: Each change of an output.
    """
    if not edited or any(one.before is not None or one.after is None for one in edited):
        return False
    digest = state_digest((one.path, one.after) for one in edited if one.after is not None)
    return any((ADOPTED, digest) in one.trailers for one in commits)
