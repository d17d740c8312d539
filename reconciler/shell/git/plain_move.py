"""Moves the files of a checkout where each of them is, to the letter, what its last commit has.

That is nearly always so, and then it costs what changed, and two passes of git over the index.
Everything else is left to `git read-tree`, which compares all of the index with both commits: what
a person edited, what git converts, what is outside of a sparse checkout, links.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from reconciler.manifests.paths import blob_id
from reconciler.shell.git.errors import CheckoutBusy
from reconciler.shell.git.index import LockedIndex
from reconciler.shell.git.index_entries import IndexEntries, IndexEntry
from reconciler.shell.git.objects import ChangedFile
from reconciler.shell.git.step_files import Missing, content_at, enter, write_out

USUAL = "H"
SPARSE = "info/sparse-checkout"
EXECUTABLE = "100755"


def enter_plainly(locked: LockedIndex, changes: Sequence[ChangedFile], index: IndexEntries) -> bool:
    """Enter the changes into the private index if a plain move is possible.

    Returns:
        False if it is not possible; the private index is as it was.

    Raises:
        GitError: Git failed; the private index is as it was.
    """
    folder = locked.checkout.folder
    odd = index.unmerged or index.obstacle
    if odd is not None or (locked.checkout.git_dir / SPARSE).exists():
        return False
    if not all(_is_plain(folder, change, index.by_path.get(change.path)) for change in changes):
        return False
    enter(locked, changes, index.by_path)
    return True


def move_plainly(locked: LockedIndex, changes: Sequence[ChangedFile]) -> None:
    """Write and remove the files of which `enter_plainly` has told the index.

    Raises:
        CheckoutBusy: A person edited one of them since; nothing has moved.
        GitError: Git failed; some may have moved.
    """
    folder = locked.checkout.folder
    for change in changes:
        if not _is_as_before(folder, change):
            raise CheckoutBusy(
                f'{folder}: "{change.path}" has changes; commit, stash or revert them'
            )
    write_out(
        locked,
        [change for change in changes if change.after is not None],
        [change for change in changes if change.after is None],
    )


def _is_plain(folder: Path, change: ChangedFile, entry: IndexEntry | None) -> bool:
    """Return whether the index and the folder have a path as it was, and files on both sides."""
    before, after = change.before, change.after
    if any(side is not None and not side.is_file for side in (before, after)):
        return False
    expected = None if before is None else IndexEntry(USUAL, before.mode, before.blob)
    return entry == expected and _is_as_before(folder, change)


def _is_as_before(folder: Path, change: ChangedFile) -> bool:
    """Return whether a path of the folder holds what the commit before has, byte for byte."""
    before = change.before
    try:
        found = content_at(folder, change.path)
        if before is None or not isinstance(found, bytes):
            return before is None and isinstance(found, Missing)
        executable = bool(os.lstat(folder / change.path).st_mode & 0o100)
    except OSError:  # gone in between, or not ours to read
        return False
    same_mode = executable == (before.mode == EXECUTABLE)
    return same_mode and blob_id(found, like=before.blob) == before.blob
