"""Finishes, or undoes, the steps that killed processes left in the crash journal.

If the branch has moved, the files of its checkouts follow, for exactly the paths of the step. If it
has not, no file has moved either, and only locks are left. A person's edit is never overwritten.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from reconciler.model.text import short_id
from reconciler.shell.git.checkout.checkouts import Checkout, is_at, open_checkout
from reconciler.shell.git.checkout.moves import finish, locked_index, note_index, release_index
from reconciler.shell.git.command import CheckoutBusy, GitError
from reconciler.shell.git.commits import remove_dead_imports
from reconciler.shell.git.journal import (
    HeldEntry,
    JournalEntry,
    StepUnfinished,
    entries,
    held_entry,
    read_entry,
)
from reconciler.shell.git.objects import ChangedFile, changed_files
from reconciler.shell.git.publish import places_of, remove_reference_locks
from reconciler.shell.git.repository import Repository
from reconciler.shell.processes.identity import Fate, fate_of, is_dead, this_process
from reconciler.shell.processes.signals import held_signals

COMMAND_WAITS_SECONDS = (0.05, 0.2, 0.75, 0.0)


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
            with held_signals():
                ended = _recover_entry(repository, place, sleep)
            if ended:
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
    locks = [*places_of(repository, entry.references, entry.git_dir)]
    indexes = (checkout.git_dir / "index.lock" for checkout in _checkouts(repository, entry))
    locks += [lock for lock in indexes if step.is_linked_at(lock)]
    left = " ".join(shlex.quote(str(lock)) for lock in (*locks, step.place) if lock.exists())
    return (
        f'process {entry.owner.pid} of host "{entry.owner.host}" has not finished moving '
        f"{entry.reference} to {short_id(entry.new)}; only if it has ended: rm {left}"
    )


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
    contains = ("merge-base", "--is-ancestor", entry.new)
    moved = head is not None and repository.git.run(*contains, head).code == 0
    for checkout in _checkouts(repository, entry):
        if head is not None and moved and is_at(repository, checkout, entry.reference, entry.new):
            changes = _still_current(repository, entry, head)
            with locked_index(checkout, step) as locked:
                try:
                    finish(locked, changes)
                    note_index(checkout, entry.old, entry.new)
                except (GitError, OSError) as error:
                    raise StepUnfinished(unfinished(entry.new, error)) from error
        else:
            release_index(checkout.git_dir, step)


def unfinished(new: str, error: Exception) -> str:
    """Return how far a step is, and why no farther."""
    return f"the branch is at {short_id(new)}, its checkout follows with the next pass: {error}"


def _still_current(repository: Repository, entry: JournalEntry, head: str) -> Sequence[ChangedFile]:
    """Return the changes of a step, without the paths that later commits changed again."""
    later = {change.path for change in changed_files(repository, entry.new, head)}
    changes = changed_files(repository, entry.old, entry.new)
    return [change for change in changes if change.path not in later]
