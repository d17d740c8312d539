"""The only file that moves a branch, or several in one transaction.

A killed git leaves locks on references; here is found whose they are, and how to remove them. A
lock is ours only if the journal says so. In doubt it stays, for it may be a user's.
"""

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from reconciler.shell.git.command import GitError, GitKilled, LostRace
from reconciler.shell.git.journal import HeldEntry
from reconciler.shell.git.repository import Repository, check_branch, check_commit
from reconciler.shell.processes.identity import is_of_another_boot, this_process
from reconciler.shell.processes.limits import sync_folder

BACKOFF_SECONDS = (0.01, 0.05, 0.2, 0.5, 1.0)


class BranchMove(NamedTuple):
    """A branch, the commit that it must be at (`None`: it must not be there), and the next one."""

    name: str
    old: str | None
    new: str

    @property
    def reference(self) -> str:
        """Full name of the branch."""
        return f"refs/heads/{check_branch(self.name)}"


def publish(
    repository: Repository,
    branch: str,
    *,
    old: str | None,
    new: str,
    reason: str = "reconcile",
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Move a branch from `old` to `new`, or leave it as it was; see `publish_together`."""
    publish_together(repository, [BranchMove(branch, old, new)], reason=reason, sleep=sleep)


def publish_together(
    repository: Repository,
    moves: Sequence[BranchMove],
    *,
    reason: str = "reconcile",
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Move branches in one transaction, or leave all of them as they were.

    Whether the race was lost is decided by reading the branches again, never by what git says. A
    lock that another process holds is waited for, a few times, and never removed. Git moves them
    in the order given: what was killed in between has moved those that come first.

    Args:
        repository: Where the branches are.
        moves: From where to where, full hex ids.
        reason: For the log of the references.
        sleep: Waits that many seconds.

    Raises:
        LostRace: A branch is elsewhere. Read it, reconcile again, publish again; never force.
        GitError: Git failed although no branch is elsewhere.
    """
    arguments = ("update-ref", "-m", reason, "--stdin")
    left = list(moves)
    killed = False
    for seconds in (*BACKOFF_SECONDS, None):
        try:
            finished = repository.git.run(*arguments, stdin=_transaction(left))
            if finished.code == 0:
                return
            failure: GitError = repository.git.error(arguments, finished)
        except GitKilled as error:
            failure, killed = error, True
        try:
            left = _left(repository, left)
        except LostRace as race:
            if killed:  # it may have moved the branch before somebody else did
                raise GitError(str(race)) from race
            raise
        if not left:
            return  # somebody computed the same commits and was first
        if seconds is None:
            references = [move.reference for move in left]
            raise GitError(f"{failure}{advice_on_locks(repository, references)}")
        sleep(seconds)
    raise GitError(f'branch "{left[0].name}" could not be moved')


def _transaction(moves: Sequence[BranchMove]) -> bytes:
    """Return what git reads of a transaction, by git-update-ref(1)."""
    updates = (
        f"update {move.reference} {check_commit(move.new)} "
        f"{check_commit(move.old) if move.old else '0' * len(move.new)}"
        for move in moves
    )
    lines = ("start", *updates, "prepare", "commit")
    return "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")


def _left(repository: Repository, moves: Sequence[BranchMove]) -> list[BranchMove]:
    """Return the moves that have not happened.

    Raises:
        LostRace: A branch is neither where it was nor where it goes.
    """
    left = []
    for move in moves:
        present = repository.find(move.name)
        if present == move.new:
            continue
        if present != move.old:
            at, old = present or "nothing", move.old or "nothing"
            raise LostRace(f'branch "{move.name}" is at {at}, no longer at {old}')
        left.append(move)
    return left


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
    locks = [shlex.quote(str(lock)) for lock in places if lock.exists()]
    if not locks:
        return ""
    return f"; if no git command is running, remove what a killed one left: rm {' '.join(locks)}"


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
