"""Moves the files of a checkout by a list of them, where it is certain whose each of them is.

Nearly always each file is, to the letter, what the last commit has. Then a move costs what changed,
and two passes of git over the index. A file that a person edited keeps the edit, and the others
move around it. Everything else is left to `git read-tree`, which compares all of the index with
both commits: what git converts, what is outside of a sparse checkout, links.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reconciler.manifests.paths import blob_id
from reconciler.shell.git.checkout.checkouts import refuse_obstacles
from reconciler.shell.git.checkout.index import LockedIndex
from reconciler.shell.git.checkout.index_entries import IndexEntries, IndexEntry
from reconciler.shell.git.checkout.kept_edits import KeptEdit
from reconciler.shell.git.checkout.step_files import LEFT_OUT, Missing, content_at, enter, write_out
from reconciler.shell.git.objects import ChangedFile, TreeEntry

USUAL = "H"
SPARSE = "info/sparse-checkout"
EXECUTABLE = "100755"

Sign = tuple[int, ...]
"""What tells a file from the same place edited later; empty where there is none."""


@dataclass(frozen=True, slots=True)
class ListedMove:
    """A move of which the private index knows already, and no file.

    Attributes:
        changes: What is written and removed.
        signs: How each of their files looked when it was known whose it is.
        kept: A person's edits that stay.
    """

    changes: tuple[ChangedFile, ...]
    signs: Mapping[str, Sign]
    kept: tuple[KeptEdit, ...] = ()


def enter_plainly(
    locked: LockedIndex, changes: Sequence[ChangedFile], index: IndexEntries
) -> ListedMove | None:
    """Enter the changes into the private index if every file is as the commit before has it.

    Returns:
        `None` if one is not; the private index is as it was.

    Raises:
        GitError: Git failed; the private index is as it was.
    """
    folder = locked.checkout.folder
    odd = index.unmerged or index.obstacle
    if odd is not None or (locked.checkout.git_dir / SPARSE).exists():
        return None
    signs = {change.path: _sign(folder, change.path) for change in changes}
    if not all(_is_plain(folder, change, index.by_path.get(change.path)) for change in changes):
        return None
    enter(locked, changes, index.by_path)
    return ListedMove(tuple(changes), signs)


def enter_around_edits(
    locked: LockedIndex, changes: Sequence[ChangedFile], index: IndexEntries
) -> ListedMove | None:
    """Enter the changes into the private index if nothing but edits of files is in the way.

    What a person staged stays staged. `git status` shows any other edit as one of the new commit.

    Args:
        locked: Its private index was refreshed.
        changes: What differs between the two commits.
        index: What the private index has of them.

    Returns:
        `None` if no file is edited; the private index is as it was.

    Raises:
        CheckoutBusy: Something else is in the way.
        GitError: Git failed.
    """
    folder = locked.checkout.folder
    signs = {change.path: _sign(folder, change.path) for change in changes}
    listed = locked.git.output("diff-files", "--name-only", "-z", "--ignore-submodules=all")
    differing = set(listed.decode(errors="surrogateescape").split("\0"))
    entered = {change.path: _entry(index, change.path) for change in changes}
    staged = {one.path for one in changes if entered[one.path] not in (one.before, one.after)}
    edited = {
        change.path
        for change in changes
        if change.path in differing
        or entered[change.path] != change.before
        or (change.before is None and signs[change.path])
    }
    edited = {path for path in edited if _is_file_below_folders(folder, path)}
    rest = [change for change in changes if change.path not in edited]
    refuse_obstacles(locked.checkout, index, rest)
    if not edited or any(_is_folder(signs[change.path]) for change in rest):
        return None
    enter(locked, [change for change in changes if change.path not in staged], index.by_path)
    kept = (
        KeptEdit(folder, change.path, staged=change.path in staged, gone=change.after is None)
        for change in changes
        if change.path in edited and not _has(folder, change)
    )
    present = (change for change in rest if not _is_left_out(index.by_path.get(change.path)))
    return ListedMove(tuple(present), signs, tuple(kept))


def move_listed(locked: LockedIndex, move: ListedMove) -> tuple[KeptEdit, ...]:
    """Write and remove the files of which the private index knows; return the edits that stay.

    Raises:
        GitError: Git failed; some may have moved.
    """
    folder = locked.checkout.folder
    fresh: list[ChangedFile] = []
    edited: list[ChangedFile] = []
    for change in move.changes:
        same = _sign(folder, change.path) == move.signs[change.path]
        (fresh if same else edited).append(change)
    write_out(
        locked,
        [change for change in fresh if change.after is not None],
        [change.path for change in fresh if change.after is None],
    )
    since = (KeptEdit(folder, one.path, gone=one.after is None) for one in edited)
    return (*move.kept, *since)


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


def _entry(index: IndexEntries, path: str) -> TreeEntry | None:
    found = index.by_path.get(path)
    return None if found is None else TreeEntry(found.mode, found.blob)


def _has(folder: Path, change: ChangedFile) -> bool:
    """Return whether a path holds already what the new commit has."""
    found, after = content_at(folder, change.path), change.after
    if after is None or not isinstance(found, bytes):
        return after is None and isinstance(found, Missing)
    return blob_id(found, like=after.blob) == after.blob


def _is_file_below_folders(folder: Path, path: str) -> bool:
    """Return whether a path holds no folder, and no link or file stands above it."""
    above = [folder / parent for parent in PurePosixPath(path).parents][:-1]
    signs = [_sign(folder, str(place)) for place in above]
    return not _is_folder(_sign(folder, path)) and all(_is_folder(sign) for sign in signs if sign)


def _is_folder(sign: Sign) -> bool:
    return bool(sign) and stat.S_ISDIR(sign[2])


def _is_left_out(entry: IndexEntry | None) -> bool:
    return entry is not None and entry.mark == LEFT_OUT


def _sign(folder: Path, path: str) -> Sign:
    """Return what stands at a path now; its folders are looked at where it is written."""
    try:
        facts = os.lstat(folder / path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return (facts.st_dev, facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns)
