"""Locks on references that a killed git left: whose they are, and how to be rid of them.

A lock is ours only if the journal says so. In doubt it stays, for it may be a person's.
"""

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from reconciler.shell.git.journal import HeldEntry
from reconciler.shell.git.repository import Repository
from reconciler.shell.processes.durable import sync_folder
from reconciler.shell.processes.identity import is_of_another_boot, this_process

QUIET_SECONDS = 1.0
"""How long a lock must have been as it is: git holds one for milliseconds, a slow hook excepted."""


def places_of(repository: Repository, references: Iterable[str], git_dir: Path) -> list[Path]:
    """Return the locks that git takes when it moves branches: each one's, and that of `HEAD`."""
    return [*_branch_locks(repository, references), git_dir / "HEAD.lock"]


def remove_reference_locks(
    repository: Repository, step: HeldEntry, *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Remove the locks that a step left on its references.

    Args:
        repository: Where they are.
        step: Its process and the git commands of it are gone.
        sleep: Waits that many seconds, until a lock is old enough to be judged.
    """
    entry = step.entry
    locks = places_of(repository, entry.references, entry.git_dir)
    branches = _branch_locks(repository, entry.references)
    if any(lock.exists() and not _is_ours(lock, step) for lock in branches):
        locks = branches  # another git moves a branch now, and may hold HEAD for it
    for lock in locks:
        if _is_ours(lock, step) and _rests(lock, sleep) and _is_ours(lock, step):
            lock.unlink(missing_ok=True)
            sync_folder(lock.parent)


def advice_on_locks(repository: Repository, references: Iterable[str]) -> str:
    """Return what a person may do about the locks that hold branches, `""` if none does."""
    places = places_of(repository, references, repository.git_dir)
    found = [shlex.quote(str(lock)) for lock in places if lock.exists()]
    if not found:
        return ""
    return f"; if no git command is running, remove what a killed one left: rm {' '.join(found)}"


def _branch_locks(repository: Repository, references: Iterable[str]) -> list[Path]:
    return [repository.common_dir / f"{reference}.lock" for reference in references]


def _is_ours(lock: Path, step: HeldEntry) -> bool:
    """Return whether a lock appeared after the entry, and holds nothing or a new id.

    Git writes the id at once. If the machine was started anew since, the power may have failed in
    between, and file systems keep a part of what was not synced, or zeros in its place.
    """
    try:
        facts = os.lstat(lock)
        content = lock.read_bytes()
    except OSError:
        return False
    younger = min(facts.st_mtime_ns, facts.st_ctime_ns) > step.written_ns
    ids = (step.entry.new, *step.entry.beside.values())
    if is_of_another_boot(step.entry.owner, this_process()):
        kept = content.rstrip(b"\0")
        return younger and any(f"{name}\n".encode().startswith(kept) for name in ids)
    return younger and content.strip().decode(errors="replace") in ("", *ids)


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
