"""Proof of a commit: what a pass would have written is compared with it, byte for byte."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reconciler.audit.history.revisions import (
    Claim,
    Commit,
    FileChange,
    Provable,
    UnreadableRevision,
    claim_of,
)
from reconciler.audit.proofs.adopted_state import adopts
from reconciler.audit.proofs.proof_differences import ProofFinding, find_differences, skipped_edits
from reconciler.audit.short_id import short_id
from reconciler.core.changes import Outcome
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.core.record import last_pass
from reconciler.manifests.paths import RECORD, output_path
from reconciler.model.moments import format_moment
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.world import RULES, World
from reconciler.version import __version__

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
    found = [_tampering(commit, change, revisions) for change in edited]
    return _proof(commit, ProofState.TAMPERED, found)


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
    told = tuple(findings[:MOST_TOLD])
    if len(findings) > MOST_TOLD:
        told += (ProofFinding("", f"and {len(findings) - MOST_TOLD} more files"),)
    return Proof(commit=commit, state=state, findings=told)
