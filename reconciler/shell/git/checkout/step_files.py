"""The index and the files of a checkout, brought to where its branch is.

Git enters what the branch has into the index, and writes the files. Which ones it may write is
decided here: no content is overwritten or removed that the commits of the step do not explain.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reconciler.manifests.paths import blob_id
from reconciler.shell.git.checkout.index import LockedIndex
from reconciler.shell.git.checkout.index_entries import IndexEntry, index_entries
from reconciler.shell.git.objects import ChangedFile, TreeEntry
from reconciler.shell.processes.durable import sync_places

LEFT_OUT = "S"  # git ls-files: the file is outside of a sparse checkout


class Missing:
    """Nothing stands at a path, and nothing is in the way."""


def finish(locked: LockedIndex, changes: Sequence[ChangedFile]) -> None:
    """Bring the index and the files of a checkout to where the branch is.

    Written are files that are missing, cut short or as they were before the step: git unlinks a
    file before it writes it anew. Any other content is a person's edit since: it stays, and
    `git status` shows it. A path that the index has neither as before nor as after the step was
    staged by a person, who must have removed our lock; it stays, too.

    Raises:
        GitError: Git failed.
    """
    entries = index_entries(locked.git, [change.path for change in changes]).by_path
    changes = [
        change
        for change in changes
        if _blob(entries.get(change.path)) in (_blob(change.before), _blob(change.after))
    ]
    enter(locked, changes, entries)
    present = [change for change in changes if not _is_left_out(entries.get(change.path))]
    folder = locked.checkout.folder
    write_out(
        locked,
        [change for change in present if _is_ours_to_write(locked, change)],
        [change.path for change in present if _is_ours_to_remove(folder, change)],
    )
    sync_places([locked.checkout.folder / change.path for change in present])
    locked.git.run("update-index", "-q", "--refresh")
    locked.install()


def _blob(entry: TreeEntry | IndexEntry | None) -> str | None:
    return entry.blob if entry is not None else None


def _is_left_out(entry: IndexEntry | None) -> bool:
    return entry is not None and entry.mark == LEFT_OUT


def enter(
    locked: LockedIndex, changes: Sequence[ChangedFile], entries: Mapping[str, IndexEntry]
) -> None:
    """Enter into the index what the branch has; `entries` is what it had.

    Raises:
        GitError: Git failed; the index is as it was.
    """
    records, left_out = [], []
    for change in changes:
        before, after = change.before, change.after
        zeros = "0" * len(before.blob if before else "")
        entry = f"{after.mode} {after.blob}" if after else f"0 {zeros}"
        records.append(f"{entry}\t{change.path}\0")
        if after and _is_left_out(entries.get(change.path)):
            left_out.append(f"{change.path}\0")
    for options, lines in (
        (("--add", "--remove", "-z", "--index-info"), records),
        (("--skip-worktree", "-z", "--stdin"), left_out),
    ):
        stdin = "".join(lines).encode(errors="surrogateescape")
        if stdin:
            locked.git.output("update-index", *options, stdin=stdin)


def write_out(locked: LockedIndex, written: Iterable[ChangedFile], removed: Iterable[str]) -> None:
    """Let git write files as the index has them, and remove others, with folders left empty.

    Raises:
        GitError: Git failed; some of the files may be written.
    """
    stdin = b"".join(change.path.encode(errors="surrogateescape") + b"\0" for change in written)
    if stdin:
        locked.git.output("checkout-index", "--force", "--index", "-z", "--stdin", stdin=stdin)
    for path in removed:
        _remove(locked.checkout.folder, path)


def _is_ours_to_write(locked: LockedIndex, change: ChangedFile) -> bool:
    """Return whether what stands at a path is what the step left there, and no person's edit."""
    found = content_at(locked.checkout.folder, change.path)
    after = change.after
    if found is None or after is None or not after.is_file:
        return False
    if isinstance(found, Missing):
        return True
    name = blob_id(found, like=after.blob)
    if change.before is not None and name == change.before.blob:
        return True
    if name == after.blob:
        return False
    whole = locked.git.output("cat-file", "blob", after.blob)
    return whole.startswith(found.rstrip(b"\0"))  # a loss of power leaves zeros


def content_at(folder: Path, path: str) -> bytes | Missing | None:
    """Return what a plain file holds; `None` if a path leads through or to anything else."""
    place = folder
    try:
        for part in path.split("/")[:-1]:
            place /= part
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return None
        place = folder / path
        if not stat.S_ISREG(os.lstat(place).st_mode):
            return None
        return place.read_bytes()
    except FileNotFoundError:
        return Missing()


def _is_ours_to_remove(folder: Path, change: ChangedFile) -> bool:
    """Return whether a path that the step removes is as it was before, or was removed already."""
    if change.after is not None or change.before is None:
        return False
    found = content_at(folder, change.path)
    if isinstance(found, bytes):
        return blob_id(found, like=change.before.blob) == change.before.blob
    return isinstance(found, Missing)


def _remove(folder: Path, path: str) -> None:
    """Remove a file, and the folders that it leaves empty; no link is followed."""
    if content_at(folder, path) is None:
        return
    (folder / path).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty, or gone
        for parent in (folder / path).parents:
            if parent == folder:
                return
            parent.rmdir()
