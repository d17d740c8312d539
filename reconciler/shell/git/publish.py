"""The only file that moves a branch."""

import time
from collections.abc import Callable

from reconciler.shell.git.errors import GitError, LostRace
from reconciler.shell.git.reference_locks import advice_on_locks
from reconciler.shell.git.repository import Repository, check_branch, check_commit

BACKOFF_SECONDS = (0.01, 0.05, 0.2, 0.5, 1.0)


def publish(
    repository: Repository,
    branch: str,
    *,
    old: str | None,
    new: str,
    reason: str = "reconcile",
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Move a branch from `old` to `new`, or leave it as it was.

    Whether the race was lost is decided by reading the branch again, never by what git says. A lock
    that another process holds is waited for, a few times, and never removed.

    Args:
        repository: Where the branch is.
        branch: Name without `refs/heads/`.
        old: Full hex id that the branch must be at; `None` if it must not exist.
        new: Full hex id of a commit.
        reason: For the log of the reference.
        sleep: Waits that many seconds.

    Raises:
        LostRace: The branch is not at `old`. Read it, reconcile again, publish again; never force.
        GitError: Git failed although the branch is still at `old`.
    """
    reference = f"refs/heads/{check_branch(branch)}"
    expected = check_commit(old) if old else "0" * len(new)
    arguments = ("update-ref", "-m", reason, reference, check_commit(new), expected)
    for seconds in (*BACKOFF_SECONDS, None):
        finished = repository.git.run(*arguments)
        if finished.code == 0:
            return
        present = repository.find(branch)
        if present == new:
            return  # somebody computed the same commit and was first
        if present != old:
            raise LostRace(f'branch "{branch}" is at {present or "nothing"}, no longer at {old}')
        if seconds is None:
            error = repository.git.error(arguments, finished)
            raise GitError(f"{error}{advice_on_locks(repository, reference)}")
        sleep(seconds)
    raise GitError(f'branch "{branch}" could not be moved')
