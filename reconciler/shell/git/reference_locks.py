"""Locks on references that a killed git left: whose they are, and how to be rid of them.

A lock is ours only if the journal says so. In doubt it stays, for it may be a person's.
"""

import contextlib
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path

from reconciler.shell.durable import sync_folder
from reconciler.shell.git.journal import HeldEntry
from reconciler.shell.git.repository import Repository

QUIET_SECONDS = 1.0
"""How long a lock must have been as it is: git holds one for milliseconds, a slow hook excepted."""


def places_of(repository: Repository, reference: str, git_dir: Path) -> tuple[Path, Path]:
    """Return the locks that git takes when it moves a branch: the branch's, and that of `HEAD`."""
    return repository.common_dir / f"{reference}.lock", git_dir / "HEAD.lock"


def remove_reference_locks(
    repository: Repository, step: HeldEntry, *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Remove the locks that a step left on its references.

    Args:
        repository: Where they are.
        step: Its process and the git commands of it are gone.
        sleep: Waits that many seconds, until a lock is old enough to be judged.
    """
    branch, head = places_of(repository, step.entry.reference, step.entry.git_dir)
    if branch.exists() and not _is_ours(branch, step):
        return  # another git moves the branch now, and may hold HEAD for it
    for lock in (branch, head):
        if _is_ours(lock, step) and _rests(lock, sleep) and _is_ours(lock, step):
            lock.unlink(missing_ok=True)
            sync_folder(lock.parent)


def left_locks(repository: Repository, step: HeldEntry) -> bool:
    """Return whether a step that failed left a lock that may be its own."""
    places = places_of(repository, step.entry.reference, step.entry.git_dir)
    return any(_is_ours(lock, step) for lock in places)


def advice_on_locks(repository: Repository, reference: str) -> str:
    """Return what a person may do about the locks that hold a branch, `""` if none does."""
    places = places_of(repository, reference, repository.git_dir)
    found = [shlex.quote(str(lock)) for lock in places if lock.exists()]
    if not found:
        return ""
    return f"; if no git command is running, remove what a killed one left: rm {' '.join(found)}"


def _is_ours(lock: Path, step: HeldEntry) -> bool:
    """Return whether a lock appeared after the entry, and holds nothing or the new id."""
    try:
        facts = os.lstat(lock)
        content = lock.read_bytes()
    except OSError:
        return False
    younger = min(facts.st_mtime_ns, facts.st_ctime_ns) > step.written_ns
    return younger and content.strip() in (b"", step.entry.new.encode())


def _rests(lock: Path, sleep: Callable[[float], None]) -> bool:
    """Wait until a lock is old enough; return whether it is still there as it was."""
    with contextlib.suppress(FileNotFoundError):
        before = os.lstat(lock)
        age_seconds = time.time() - before.st_mtime
        if age_seconds < QUIET_SECONDS:
            sleep(min(QUIET_SECONDS - age_seconds, QUIET_SECONDS))
        after = os.lstat(lock)
        return os.path.samestat(before, after) and before.st_mtime_ns == after.st_mtime_ns
    return False
