"""The index of a checkout: locked against git, and copied so that a move can be tried out.

The lock file is the one that every git command takes before it writes the index. It is a link to
the entry of the crash journal, so whoever finds it knows whose it is and what was to happen.

The index moves before the branch, as with git's own commands: a `git commit` that has read the old
`HEAD` fails, and one that has read the new one reads the new index after it. Until the step is over
the index of before stands beside it, so that a step that moves no branch leaves none behind.
"""

import contextlib
import os
import shlex
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reconciler.shell.git.checkout.checkouts import Checkout
from reconciler.shell.git.command import Git
from reconciler.shell.git.errors import CheckoutBusy
from reconciler.shell.git.journal import NOTHING_MOVED, HeldEntry
from reconciler.shell.processes.durable import sync_file, sync_folder

COPY_PREFIX = "reconciler-index-"
BEFORE = "reconciler-before.index"
"""The index of before the step while that lasts; empty where there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedIndex:
    """A checkout whose index no other process can write.

    Attributes:
        checkout: Where the files are.
        git: Runs in the work tree on a private copy of the index.
        copy: The private copy.
    """

    checkout: Checkout
    git: Git
    copy: Path

    def draft_ahead(self) -> Path | None:
        """Return another copy of the private copy, which may be moved and put in the index's place.

        `None` where there are no entries.
        """
        if not self.copy.exists():
            return None
        ahead = self.copy.with_name(f"{self.copy.name}-ahead")
        os.link(self.copy, ahead)
        return ahead

    def install_ahead(self, ahead: Path) -> None:
        """Put a copy in the index's place before the branch moves, and keep the index of before."""
        folder = self.checkout.git_dir
        try:
            os.link(folder / "index", folder / BEFORE)
        except FileNotFoundError:
            (folder / BEFORE).touch()
        sync_file(ahead)
        sync_folder(folder)
        ahead.replace(folder / "index")
        sync_folder(folder)

    def put_back(self) -> None:
        """Put the index of before back: its checkout does not follow the branch any more."""
        _put_back(self.checkout.git_dir)

    def install(self) -> None:
        """Put the private copy in the index's place; readers see the one or the other."""
        if self.copy.exists():  # an index without entries may have no file
            sync_file(self.copy)
            self.copy.replace(self.checkout.git_dir / "index")


@contextlib.contextmanager
def locked_index(checkout: Checkout, step: HeldEntry) -> Iterator[LockedIndex]:
    """Lock the index of a checkout for the length of a block.

    The lock stays if the step may have moved its branch: a person's `git commit` would undo it.

    Args:
        checkout: Where the files are.
        step: What is about to happen; a lock that is this very entry is taken over.

    Raises:
        CheckoutBusy: Another process holds the lock.
    """
    lock = checkout.git_dir / "index.lock"
    _take(checkout, lock, step)
    stays = True
    try:
        sync_folder(checkout.git_dir)
        _remove_copies(checkout)
        copy = checkout.git_dir / f"{COPY_PREFIX}{uuid.uuid4().hex}"
        with contextlib.suppress(FileNotFoundError):  # `git clone --no-checkout` has no index
            os.link(checkout.git_dir / "index", copy)  # git never writes an index in its place
        yield LockedIndex(
            checkout=checkout,
            git=step.joined(checkout.git).having(variables={"GIT_INDEX_FILE": str(copy)}),
            copy=copy,
        )
        stays = False
    except NOTHING_MOVED:
        _put_back(checkout.git_dir)
        stays = False
        raise
    finally:
        _remove_copies(checkout)
        if not stays:
            (checkout.git_dir / BEFORE).unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
            sync_folder(checkout.git_dir)


def release_index(git_dir: Path, step: HeldEntry) -> None:
    """Undo what a step that moved no branch left of its lock on the index, and nothing else."""
    lock = git_dir / "index.lock"
    if not step.is_linked_at(lock):
        return
    _put_back(git_dir)
    for leftover in git_dir.glob(f"{COPY_PREFIX}*"):
        leftover.unlink(missing_ok=True)
    lock.unlink(missing_ok=True)
    sync_folder(git_dir)


def _put_back(git_dir: Path) -> None:
    """Put the index of before back in its place, if the step had put another one there."""
    before = git_dir / BEFORE
    try:
        was_there = before.stat().st_size > 0
    except FileNotFoundError:
        return
    if was_there:
        before.replace(git_dir / "index")
    else:
        (git_dir / "index").unlink(missing_ok=True)
    before.unlink(missing_ok=True)  # two links to one file stay two, whichever is renamed
    sync_folder(git_dir)


def _remove_copies(checkout: Checkout) -> None:
    """Remove copies of the index; only the holder of its lock makes them."""
    for leftover in checkout.git_dir.glob(f"{COPY_PREFIX}*"):
        leftover.unlink(missing_ok=True)


def _take(checkout: Checkout, lock: Path, step: HeldEntry) -> None:
    try:
        os.link(step.place, lock)
    except FileExistsError:
        if step.is_linked_at(lock):
            return
        raise CheckoutBusy(
            f"{checkout.folder}: git is at work here ({lock} exists); let it finish, and only if "
            f"no git command is running remove that file: rm {shlex.quote(str(lock))}"
        ) from None
