"""The only file that moves a branch, or several in one transaction."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from reconciler.shell.git.errors import GitError, GitKilled, LostRace
from reconciler.shell.git.reference_locks import advice_on_locks
from reconciler.shell.git.repository import Repository, check_branch, check_commit

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
