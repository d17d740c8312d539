"""What people committed between two passes, with what the later one looked at after each of it."""

from collections.abc import Sequence
from typing import NamedTuple

from reconciler.audit.history.revisions import Commit, Lineage, Revisions, is_by_hand, pass_of


class TakenUp(NamedTuple):
    """A commit that a pass took up, with the inputs and outputs as it left them."""

    commit: Commit
    inputs: str
    outputs: str | None


def steps_since(lineage: Lineage, position: int, revisions: Revisions) -> tuple[TakenUp, ...]:
    """Return people's commits between one and the pass before, the newest first, then that pass."""
    found: list[Commit] = []
    for before in range(position + 1, len(lineage.revisions)):
        found.append(lineage[before])
        if not is_by_hand(found[-1]):
            break
    if not revisions.layout.apart:
        return tuple(TakenUp(one, one.revision, one.revision) for one in found)
    return _steps_apart(lineage[position], found, revisions)


def _steps_apart(
    commit: Commit, found: Sequence[Commit], revisions: Revisions
) -> tuple[TakenUp, ...]:
    """Return the same where people write to another branch: what they edited here comes last."""
    read = pass_of(commit)
    if read is None:
        return ()
    before = pass_of(found[-1]) if found else None
    if before is None:
        return (TakenUp(revisions.commit_at(read.inputs), read.inputs, None),)
    *edits, last = found
    return (
        *(TakenUp(one, read.inputs, one.revision) for one in edits),
        *(
            TakenUp(one, one.revision, last.revision)
            for one in revisions.between(before.inputs, read.inputs)
        ),
        TakenUp(last, before.inputs, last.revision),
    )
