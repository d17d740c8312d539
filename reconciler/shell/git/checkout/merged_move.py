"""Lets git move the files of a checkout: `read-tree` compares all of the index with both commits.

It knows what is outside of a sparse checkout and what line ends are converted, and refuses
where a person's work is in the way.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from reconciler.shell.git.checkout.checkouts import refuse_obstacles
from reconciler.shell.git.checkout.index import LockedIndex
from reconciler.shell.git.checkout.index_entries import IndexEntries
from reconciler.shell.git.command import Finished, Git, one_line
from reconciler.shell.git.errors import CheckoutBusy, GitError
from reconciler.shell.git.objects import ChangedFile
from reconciler.shell.processes.disk import refusal

ENTRY = re.compile(r"[Ee]ntry '(.+)' (not uptodate|would be overwritten)")


@dataclass(frozen=True, slots=True)
class CheckoutMove:
    """From which commit to which the files of a checkout go, full hex ids, and what differs."""

    old: str
    new: str
    changes: tuple[ChangedFile, ...]


def check_merge(locked: LockedIndex, index: IndexEntries, move: CheckoutMove) -> None:
    """Refuse a move that would touch a person's work; nothing changes here."""
    # Else a file that was only touched, not changed, would refuse the move.
    locked.git.run("update-index", "-q", "--refresh")
    refuse_obstacles(locked.checkout, index, move.changes)
    dry = locked.git.run("read-tree", "-n", "-m", "-u", move.old, move.new)
    if dry.code != 0:
        raise refusal_of_move(locked.checkout.folder, dry)


def merge(git: Git, move: CheckoutMove) -> None:
    """Move the files and the private index.

    Raises:
        CheckoutBusy: A person edited a file since.
        GitError: Git failed; some of the files may have moved.
    """
    arguments = ("read-tree", "-m", "-u", move.old, move.new)
    finished = git.run(*arguments)
    if finished.code != 0:
        raise refusal_of_move(git.folder, finished)


def refusal_of_move(folder: Path, finished: Finished) -> CheckoutBusy | GitError:
    """Return the error that a refusal of git stands for."""
    if found := refusal(finished.stderr, str(folder)):
        return GitError(found)
    entry = ENTRY.search(finished.stderr)
    if entry is None:
        return CheckoutBusy(f"{folder}: {one_line(finished.stderr)}")
    return CheckoutBusy(f'{folder}: "{entry[1]}" has changes; commit, stash or revert them')
