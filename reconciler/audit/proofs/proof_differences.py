"""What a commit holds against what a pass would have written on the commit before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.audit.history.revisions import Claim, Commit, FileChange, Provable
from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.message import decision_line
from reconciler.delivery.destinations import folders_of_passes
from reconciler.manifests.paths import blob_id, output_path
from reconciler.model.world import World

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
    found = revisions.differences(claim.outputs, commit.parent)
    return {change.path: change for change in found if change.path.startswith(folders)}


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
