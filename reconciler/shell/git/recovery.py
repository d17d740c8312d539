"""Finishes, or undoes, the steps that killed processes left in the crash journal.

If the branch has moved, the files of its checkouts follow, for exactly the paths of the step. If it
has not, no file has moved either, and only locks are left. A person's edit is never overwritten.
"""

import contextlib
import os
import shlex
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from reconciler.manifests.paths import blob_id
from reconciler.shell.durable import sync_places
from reconciler.shell.git.checkouts import Checkout, index_marks, open_checkout
from reconciler.shell.git.errors import CheckoutBusy, GitError
from reconciler.shell.git.import_folder import remove_dead_imports
from reconciler.shell.git.index import LockedIndex, locked_index, release_index
from reconciler.shell.git.journal import (
    HeldEntry,
    JournalEntry,
    StepUnfinished,
    entries,
    held_entry,
    read_entry,
)
from reconciler.shell.git.objects import ChangedFile, TreeEntry, changed_files
from reconciler.shell.git.reference_locks import places_of, remove_reference_locks
from reconciler.shell.git.repository import Repository
from reconciler.shell.processes import Fate, fate_of, is_dead, this_process

COMMAND_WAITS_SECONDS = (0.05, 0.2, 0.75, 0.0)
LEFT_OUT = "S"  # git ls-files: the file is outside of a sparse checkout


def recover(repository: Repository, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Finish or undo every step whose process is gone, whichever branch it moved.

    Args:
        repository: Where the journal is.
        sleep: Waits that many seconds, where a lock is too young to be judged.

    Raises:
        CheckoutBusy: A step cannot be judged, or git is at work in a checkout. Nothing is lost;
            the message says what to do.
        StepUnfinished: The disk took no more; try again.
    """
    remove_dead_imports(repository)
    for place in entries(repository):
        for seconds in COMMAND_WAITS_SECONDS:
            if _recover_entry(repository, place, sleep):
                break
            sleep(seconds)
        else:
            raise CheckoutBusy(
                f"git commands of a process that is gone are still at work ({place}); "
                "the next pass looks again"
            )


def _recover_entry(repository: Repository, place: Path, sleep: Callable[[float], None]) -> bool:
    """End one step; return false if only git commands of its dead process stand in the way."""
    me = this_process()
    with held_entry(place) as step:
        if step is None:
            entry = read_entry(place)
            return entry is None or not is_dead(entry.owner, me)
        match fate_of(step.entry.owner, me):
            case Fate.ALIVE:
                pass
            case Fate.UNKNOWN:
                raise CheckoutBusy(_doubt(repository, step))
            case Fate.GONE:
                remove_reference_locks(repository, step, sleep=sleep)
                _end(repository, step)
                place.unlink(missing_ok=True)
    return True


def _doubt(repository: Repository, step: HeldEntry) -> str:
    """Return what a person must find out and do, since no process here can judge."""
    entry = step.entry
    locks = [*places_of(repository, entry.reference, entry.git_dir)]
    locks += [lock for lock in _index_locks(repository, entry) if step.is_linked_at(lock)]
    left = " ".join(shlex.quote(str(lock)) for lock in (*locks, step.place) if lock.exists())
    return (
        f'process {entry.owner.pid} of host "{entry.owner.host}" has not finished moving '
        f"{entry.reference} to {entry.new[:12]}; only if it has ended: rm {left}"
    )


def _index_locks(repository: Repository, entry: JournalEntry) -> Iterable[Path]:
    for checkout in _checkouts(repository, entry):
        yield checkout.git_dir / "index.lock"


def _checkouts(repository: Repository, entry: JournalEntry) -> Iterable[Checkout]:
    """Return the checkouts of a step that are still there."""
    for folder in entry.checkouts:
        if (folder / ".git").exists():
            yield open_checkout(repository, folder)


def _end(repository: Repository, step: HeldEntry) -> None:
    """Let the checkouts follow if the branch has moved, and let go of them."""
    entry = step.entry
    branch = entry.reference.removeprefix("refs/heads/")
    head = repository.find(branch)
    moved = head is not None and _contains(repository, head, entry.new)
    for checkout in _checkouts(repository, entry):
        if head is not None and moved and _is_on(checkout, entry.reference):
            changes = _still_current(repository, entry, head)
            with locked_index(checkout, step) as locked:
                try:
                    finish(locked, changes)
                except (GitError, OSError) as error:
                    raise StepUnfinished(unfinished(entry.new, error)) from error
        else:
            release_index(checkout.git_dir, step)


def unfinished(new: str, error: Exception) -> str:
    """Return how far a step is, and why no farther."""
    return f"the branch is at {new[:12]}, its checkout follows with the next pass: {error}"


def _contains(repository: Repository, tip: str, commit: str) -> bool:
    return repository.git.run("merge-base", "--is-ancestor", commit, tip).code == 0


def _is_on(checkout: Checkout, reference: str) -> bool:
    """Return whether a branch is checked out; a person may have left it since."""
    said = checkout.git.run("symbolic-ref", "--quiet", "HEAD").stdout
    return said.removesuffix(b"\n") == reference.encode(errors="surrogateescape")


def _still_current(repository: Repository, entry: JournalEntry, head: str) -> Sequence[ChangedFile]:
    """Return the changes of a step, without the paths that later commits changed again."""
    later = {change.path for change in changed_files(repository, entry.new, head)}
    changes = changed_files(repository, entry.old, entry.new)
    return [change for change in changes if change.path not in later]


def finish(locked: LockedIndex, changes: Sequence[ChangedFile]) -> None:
    """Bring the index and the files of a checkout to where the branch is.

    Written are files that are missing, cut short or as they were before the step: git unlinks a
    file before it writes it anew. Any other content is a person's edit since: it stays, and
    `git status` shows it.

    Raises:
        GitError: Git failed.
    """
    marks = index_marks(locked.git)
    staged = _staged(locked)
    folder = locked.checkout.folder
    changes = [c for c in changes if staged.get(c.path) in (_blob(c.before), _blob(c.after))]
    _enter(locked, changes, marks)
    present = [change for change in changes if marks.get(change.path) != LEFT_OUT]
    written = [
        change.path
        for change in present
        if change.after is not None and _is_ours_to_write(locked, change)
    ]
    stdin = b"".join(path.encode(errors="surrogateescape") + b"\0" for path in written)
    locked.git.output("checkout-index", "--force", "--index", "-z", "--stdin", stdin=stdin)
    for change in present:
        if change.after is None:
            _remove(folder, change)
    sync_places([folder / change.path for change in present])
    locked.git.run("update-index", "-q", "--refresh")
    locked.install()


def _staged(locked: LockedIndex) -> Mapping[str, str]:
    """Return the blob that the index has for each path; of a merge that is not done, one of them.

    A path that has neither what was before the step nor what comes after was staged by a person,
    who must have removed our lock.
    """
    listed = locked.git.output("ls-files", "--stage", "-z").decode(errors="surrogateescape")
    records = (record.partition("\t") for record in listed.split("\0")[:-1])
    return {path: facts.split(" ")[1] for facts, _, path in records}


def _blob(entry: TreeEntry | None) -> str | None:
    return entry.blob if entry is not None else None


def _enter(locked: LockedIndex, changes: Sequence[ChangedFile], marks: Mapping[str, str]) -> None:
    """Enter into the index what the branch has."""
    records, left_out = [], []
    for change in changes:
        before, after = change.before, change.after
        zeros = "0" * len(before.blob if before else "")
        entry = f"{after.mode} {after.blob}" if after else f"0 {zeros}"
        records.append(f"{entry}\t{change.path}\0")
        if after and marks.get(change.path) == LEFT_OUT:
            left_out.append(f"{change.path}\0")
    for options, lines in (
        (("--add", "--remove", "-z", "--index-info"), records),
        (("--skip-worktree", "-z", "--stdin"), left_out),
    ):
        stdin = "".join(lines).encode(errors="surrogateescape")
        if stdin:
            locked.git.output("update-index", *options, stdin=stdin)


def _is_ours_to_write(locked: LockedIndex, change: ChangedFile) -> bool:
    """Return whether what stands at a path is what the step left there, and no person's edit."""
    found = _content(locked.checkout.folder, change.path)
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


class Missing:
    """Nothing stands at a path, and nothing is in the way."""


def _content(folder: Path, path: str) -> bytes | Missing | None:
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


def _remove(folder: Path, change: ChangedFile) -> None:
    """Remove a file that the step removes, and the folders that it leaves empty."""
    found = _content(folder, change.path)
    if found is None or change.before is None:
        return
    if not isinstance(found, Missing):
        if blob_id(found, like=change.before.blob) != change.before.blob:
            return
        (folder / change.path).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty, or gone
        for parent in (folder / change.path).parents:
            if parent == folder:
                return
            parent.rmdir()
