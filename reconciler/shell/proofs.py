"""Proves a history piece by piece, in several processes where it is long."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reconciler.audit.proof import Proof, prove
from reconciler.audit.revisions import Commit
from reconciler.core.memo import Memo
from reconciler.shell.revisions import GitRevisions
from reconciler.shell.workers import processors, start_pool

PIECE = 16  # commits; neighbours share nearly all files, so a piece costs one cold load at most
FEW = 2 * PIECE  # ours: so few are done about as soon as a process has started


@dataclass(frozen=True, slots=True)
class Place:
    """Which repository, and which of its folders is ours; a worker opens it anew."""

    directory: Path
    output_root: str


def prove_all(place: Place, commits: Sequence[Commit], *, jobs: int | None) -> Iterator[Proof]:
    """Prove commits, in the order given.

    Args:
        place: Where they are.
        commits: Neighbours should be neighbours in history, too.
        jobs: How many processes work; `None` is one a processor.
    """
    workers = min(jobs or processors(), len(commits) // PIECE + 1)
    if workers == 1 or (jobs is None and len(commits) <= FEW):
        yield from _prove_here(place, commits)
        return
    pieces = [tuple(commits[i : i + PIECE]) for i in range(0, len(commits), PIECE)]
    with start_pool(workers, _open, place) as pool:
        for proofs in pool.map(_prove_piece, pieces):
            yield from proofs


def _prove_here(place: Place, commits: Sequence[Commit]) -> Iterator[Proof]:
    """Prove commits in this process."""
    revisions = GitRevisions.open(place.directory, output_root=place.output_root)
    revisions.prepare(commits)
    memo = Memo()
    for commit in commits:
        yield prove(commit, revisions, output_root=place.output_root, memo=memo)


_OPENED: list[tuple[GitRevisions, Place, Memo]] = []
"""What a worker process opened when it started."""


def _open(place: Place) -> None:
    """Begin a worker."""
    revisions = GitRevisions.open(place.directory, output_root=place.output_root)
    _OPENED.append((revisions, place, Memo()))


def _prove_piece(commits: Sequence[Commit]) -> list[Proof]:
    """Prove a piece of the history in a worker."""
    revisions, place, memo = _OPENED[-1]
    revisions.prepare(commits)
    return [
        prove(commit, revisions, output_root=place.output_root, memo=memo) for commit in commits
    ]
