"""The index of a checkout: locked against git, and copied so that a move can be tried out.

The lock file is the one that every git command takes before it writes the index. It is a link to
the entry of the crash journal, so whoever finds it knows whose it is and what was to happen.
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
        stays = False
        raise
    finally:
        _remove_copies(checkout)
        if not stays:
            lock.unlink(missing_ok=True)
            sync_folder(checkout.git_dir)


def release_index(git_dir: Path, step: HeldEntry) -> None:
    """Remove what a step left of its lock on the index of a checkout, and nothing else."""
    lock = git_dir / "index.lock"
    if not step.is_linked_at(lock):
        return
    for leftover in git_dir.glob(f"{COPY_PREFIX}*"):
        leftover.unlink(missing_ok=True)
    lock.unlink(missing_ok=True)
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
