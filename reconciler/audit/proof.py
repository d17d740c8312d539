"""Proof of a commit: what a pass would have written is compared with it, byte for byte."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reconciler import __version__
from reconciler.audit.revisions import (
    Claim,
    Commit,
    FileChange,
    Provable,
    UnreadableRevision,
    claim_of,
)
from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.memo import Memo
from reconciler.core.message import decision_line
from reconciler.core.reconcile import reconcile
from reconciler.core.record import last_pass
from reconciler.manifests.paths import RECORD, blob_id, output_path
from reconciler.model.moments import format_moment
from reconciler.model.world import World

MOST_TOLD = 20  # findings of one commit that are told one by one
LONGEST_LINE = 120
TRIGGERED_AT = re.compile(r"^  rescheduleTriggeredAt: .{1,60}$", re.MULTILINE)
FIRST_YEAR, LAST_YEAR = 1970, 2999  # as the command line has it


class ProofState(StrEnum):
    """What became of a commit's proof."""

    PROVEN = "proven"
    INPUT = "input"
    OTHER_VERSION = "other version"
    DIFFERENT = "different"
    FORGED = "forged"
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


@dataclass(frozen=True, slots=True)
class ProofFinding:
    """One thing that is not as it must be; `path` is `""` for the commit as a whole."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was found out about one commit."""

    commit: Commit
    state: ProofState
    findings: tuple[ProofFinding, ...] = ()


def prove(
    commit: Commit, revisions: Provable, *, output_root: str, memo: Memo | None = None
) -> Proof:
    """Prove one commit, or say what speaks against it.

    A commit with our trailers must be exactly what a pass makes of the inputs and reports that it
    names, the outputs of its first parent and the moment that it names. Any other commit must leave
    the outputs alone.

    Args:
        commit: To be proven.
        revisions: Where it is.
        output_root: The folder that passes own.
        memo: What proofs of other commits remember, best of neighbours; it only saves work.
    """
    claim = claim_of(commit)
    changes = {change.path: change for change in revisions.changes(commit)}
    if claim is None or _is_elsewhere(changes, output_root):
        edited = [path for path in changes if _is_output(path, output_root)]
        if not edited:
            return Proof(commit=commit, state=ProofState.INPUT)
        return _proof(
            commit,
            ProofState.TAMPERED,
            [_tampering(commit, changes[path], revisions) for path in edited],
        )
    forged = _forged(commit, claim, revisions) if changes else "it changes nothing, a pass would"
    if forged or claim.inputs is None or claim.at is None:
        return _proof(commit, ProofState.FORGED, [ProofFinding("", forged)])
    world = revisions.world(claim.inputs, commit.parent, reports=claim.reports)
    if isinstance(world, UnreadableRevision):
        return _proof(commit, ProofState.UNKNOWN, [ProofFinding("", world.reason)])
    last = last_pass(world.outputs)
    if last is not None and _is_behind(claim, last.revision, revisions):
        old = f"Reconciled-From {claim.inputs[:12]} is older than that of the pass before"
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


def _is_elsewhere(paths: Collection[str], output_root: str) -> bool:
    """Return whether a commit is the pass of another root of the same repository."""
    return bool(paths) and all(
        not _is_output(path, output_root) and f"/{output_root}/" in path for path in paths
    )


def _is_output(path: str, output_root: str) -> bool:
    return path.startswith(f"{output_root}/")


def _compare(
    commit: Commit,
    claim: Claim,
    world: World,
    outcome: Outcome,
    changes: Mapping[str, FileChange],
    revisions: Provable,
) -> Proof:
    """Hold the commit against what a pass would have written."""
    if claim.version == __version__:
        findings = _differences(world, outcome, changes, revisions)
        return _proof(commit, ProofState.DIFFERENT if findings else ProofState.PROVEN, findings)
    record = output_path(world.output_root, RECORD)  # it names the version
    others = {path: change for path, change in changes.items() if path != record}
    findings = _differences(world, outcome, others, revisions, but=record)
    if not findings:
        return _proof(commit, ProofState.PROVEN, [])
    made = f"written by version {claim.version or '?'}, which decided otherwise than {__version__}"
    return _proof(commit, ProofState.OTHER_VERSION, [ProofFinding("", made)])


def _forged(commit: Commit, claim: Claim, revisions: Provable) -> str:
    """Return why the trailers cannot be those of a pass, `""` if they can."""
    if claim.inputs is None or claim.at is None or claim.version is None:
        return "it has not each of our three trailers once and readable"
    if claim.reports is None:
        return "its trailer Reconciled-Feedback is not once the id of a commit"
    if not FIRST_YEAR <= claim.at.year <= LAST_YEAR:
        return f"Reconciled-At is of the year {claim.at.year}"
    if revisions.apart:
        return f"it has {len(commit.parents)} parents" if len(commit.parents) > 1 else ""
    if len(commit.parents) != 1:
        return f"it has {len(commit.parents)} parents, a pass has one"
    if not revisions.leads_to(claim.inputs, commit.parents[0]):
        return f"Reconciled-From {claim.inputs[:12]} is no ancestor of it"
    if commit.parents[0] not in (claim.inputs, claim.over):
        return f"Reconciled-From {claim.inputs[:12]} is older than the commit before it"
    return ""


def _is_behind(claim: Claim, last: str, revisions: Provable) -> bool:
    """Return whether inputs that may be older than the commit before are those of an older pass."""
    if claim.inputs is None or claim.inputs == last or not (revisions.apart or claim.over):
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


def _differences(
    world: World,
    outcome: Outcome,
    changes: Mapping[str, FileChange],
    revisions: Provable,
    *,
    but: str = "",
) -> list[ProofFinding]:
    """Return where the commit is not what the pass would have written, sorted by path."""
    desired = {
        change.path: change.content if isinstance(change, WriteFile) else None
        for change in outcome.files
        if change.path != but
    }
    lines = {
        output_path(world.output_root, decision.key): decision_line(decision)
        for decision in outcome.decisions
    }
    findings = []
    for path in sorted(desired.keys() | changes.keys()):
        message = _difference(world, path, desired, changes.get(path), revisions)
        if message:
            decision = f"; the pass decides {lines[path]}" if path in lines else ""
            findings.append(ProofFinding(path, f"{message}{decision}"))
    return findings


def _difference(
    world: World,
    path: str,
    desired: Mapping[str, str | None],
    change: FileChange | None,
    revisions: Provable,
) -> str:
    """Return how one file is not what the pass would have written, `""` if it is."""
    if change is None:
        verb = "remove" if desired[path] is None else "write"
        return f"a pass would {verb} it, the commit does not"
    if path not in desired:
        return "a pass would leave it as it is, the commit changes it"
    content = desired[path]
    if content is None:
        return "" if change.after is None else "a pass would remove it, the commit keeps it"
    if change.after is None:
        return "a pass would write it, the commit removes it"
    if not change.plain:
        return "it is not a plain file"
    if change.after == blob_id(content.encode(), like=world.revision):
        return ""
    return _first_difference(content, revisions.text(change.after))


def _first_difference(expected: str, found: str) -> str:
    """Quote the first line that differs."""
    ours, theirs = expected.splitlines(), found.splitlines()
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


def _proof(commit: Commit, state: ProofState, findings: Sequence[ProofFinding]) -> Proof:
    """Return the proof, its findings cut to what is told."""
    told = tuple(findings[:MOST_TOLD])
    if len(findings) > MOST_TOLD:
        told += (ProofFinding("", f"and {len(findings) - MOST_TOLD} more files"),)
    return Proof(commit=commit, state=state, findings=told)
