"""Moves a branch together with the files of every checkout that has it checked out.

A branch that moves alone leaves its checkout with staged reversals, and the next `git commit -a`
there would undo what was decided. So either both move, or neither. A person's work is never
touched: whatever is in the way refuses the move before anything has changed.
"""

import contextlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.shell.git.checkouts import Checkout, find_checkouts, refuse_obstacles
from reconciler.shell.git.command import Finished, Git, one_line
from reconciler.shell.git.errors import CheckoutBusy, GitError, LostRace
from reconciler.shell.git.objects import ChangedFile, changed_files
from reconciler.shell.git.publish import publish
from reconciler.shell.git.repository import Repository, check_branch

ENTRY = re.compile(r"[Ee]ntry '(.+)' (not uptodate|would be overwritten)")


def advance(
    repository: Repository, branch: str, *, old: str | None, new: str, reason: str = "reconcile"
) -> None:
    """Move a branch from `old` to `new`, and the files of its checkouts with it.

    Edits of other files stay as they are, staged or not. The index of a checkout is locked
    meanwhile, so a `git add` waits or fails instead of getting lost.

    Args:
        repository: Where the branch is.
        branch: Name without `refs/heads/`.
        old: Full hex id that the branch must be at; `None` if it must not exist.
        new: Full hex id of a commit.
        reason: For the log of the reference.

    Raises:
        CheckoutBusy: A person's work is in the way, or git is at work in the checkout. Nothing
            has changed; the message names the file and says what to do.
        LostRace: The branch is no longer at `old`. Nothing has changed.
        GitError: Git failed.
    """
    checkouts = find_checkouts(repository, check_branch(branch)) if old else []
    if old is None or not checkouts:
        publish(repository, branch, old=old, new=new, reason=reason)
        return
    changes = changed_files(repository, old, new)
    with contextlib.ExitStack() as locks:
        prepared = [
            locks.enter_context(_prepared(checkout, changes, old=old, new=new))
            for checkout in checkouts
        ]
        publish(repository, branch, old=old, new=new, reason=reason)
        moved: list[_Locked] = []
        try:
            for locked in prepared:
                moved.append(locked)
                _move(locked.git, old, new)
        except BaseException:
            _put_back(repository, branch, moved, old=old, new=new)
            raise
        for locked in prepared:
            locked.install()


class _Locked:
    """A checkout whose index nobody else can write, and a private copy of that index."""

    def __init__(self, checkout: Checkout) -> None:
        self.folder = checkout.folder
        self._index = checkout.git_dir / "index"
        self._lock = checkout.git_dir / "index.lock"
        self._copy = checkout.git_dir / f"reconciler-index-{uuid.uuid4().hex}"
        self.git = checkout.git.having(variables={"GIT_INDEX_FILE": str(self._copy)})
        self._held = False

    def take(self) -> None:
        """Take the lock that every git command takes before it writes the index."""
        try:
            os.close(os.open(self._lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            raise CheckoutBusy(
                f"{self.folder}: git is at work here ({self._lock} exists); let it finish, "
                "and remove that file only if no git command is running"
            ) from None
        self._held = True
        with contextlib.suppress(FileNotFoundError):  # `git clone --no-checkout` has no index
            shutil.copy(self._index, self._copy)

    def install(self) -> None:
        """Put the private index in place, which gives the lock up."""
        self._copy.replace(self._lock)
        self._held = False  # from the next line on it may be somebody else's
        self._lock.replace(self._index)

    def release(self) -> None:
        """Give the lock up, if it is still held, and remove the copy."""
        self._copy.unlink(missing_ok=True)
        if self._held:
            self._lock.unlink(missing_ok=True)
            self._held = False


@contextlib.contextmanager
def _prepared(
    checkout: Checkout, changes: Sequence[ChangedFile], *, old: str, new: str
) -> Iterator[_Locked]:
    """Lock a checkout for which the move will succeed."""
    locked = _Locked(checkout)
    try:
        locked.take()
        # Else a file that was only touched, not changed, would refuse the move.
        locked.git.run("update-index", "-q", "--refresh")
        refuse_obstacles(checkout, locked.git, changes)
        dry = locked.git.run("read-tree", "-n", "-m", "-u", old, new)
        if dry.code != 0:
            raise _refusal(checkout.folder, dry)
        yield locked
    finally:
        locked.release()


def _move(git: Git, old: str, new: str) -> None:
    finished = git.run("read-tree", "-m", "-u", old, new)
    if finished.code != 0:
        raise _refusal(git.folder, finished)


def _put_back(
    repository: Repository,
    branch: str,
    moved: Sequence[_Locked],
    *,
    old: str,
    new: str,
) -> None:
    """Undo a move that failed half-way: somebody edited a file after the dry run."""
    for locked in moved:
        locked.git.run("read-tree", "-m", "-u", new, old)
    try:
        publish(repository, branch, old=new, new=old, reason="put back: the checkout was busy")
    except LostRace as error:
        raise GitError(
            f'branch "{branch}" moved to {new} but its checkout did not; '
            "run git status there and restore the files it lists"
        ) from error


def _refusal(folder: Path, finished: Finished) -> CheckoutBusy:
    entry = ENTRY.search(finished.stderr)
    if entry is None:
        return CheckoutBusy(f"{folder}: {one_line(finished.stderr)}")
    return CheckoutBusy(f'{folder}: "{entry[1]}" has changes; commit, stash or revert them')
