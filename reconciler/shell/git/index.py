"""The index of a checkout: locked against git, and copied so that a move can be tried out.

The lock file is the one that every git command takes before it writes the index. It says what we
are about to do, and the system holds a second lock on it for as long as this process lives. So the
next start recognises a lock that we left behind when we were killed, and finishes the work.
"""

import contextlib
import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reconciler.shell.git.checkouts import Checkout
from reconciler.shell.git.command import Git
from reconciler.shell.git.errors import CheckoutBusy, GitError

JOURNAL = re.compile(rb"reconciler moves ([0-9a-f]{40,64}) to ([0-9a-f]{40,64})\n")
COPY_PREFIX = "reconciler-index-"
LOCK_PREFIX = "reconciler-lock-"


class MoveUnfinished(GitError):
    """A branch moved, a checkout of it did not; the lock stays, and the next start finishes."""


@dataclass(frozen=True, slots=True)
class Move:
    """From which commit to which the files of a checkout go; full hex ids."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedIndex:
    """A checkout whose index nobody else can write.

    Attributes:
        checkout: Where the files are.
        git: Runs in the work tree on a private copy of the index.
        copy: The private copy.
        unfinished: What a killed process was about to do here, `None` if nothing.
    """

    checkout: Checkout
    git: Git
    copy: Path
    unfinished: Move | None

    def install(self) -> None:
        """Put the private copy in the index's place; readers see the one or the other."""
        self.copy.replace(self.checkout.git_dir / "index")


@contextlib.contextmanager
def locked_index(checkout: Checkout, move: Move) -> Iterator[LockedIndex]:
    """Lock the index of a checkout for the length of a block.

    Args:
        checkout: Where the files are.
        move: What is about to happen, for whoever finds the lock after a crash.

    Raises:
        CheckoutBusy: Somebody else holds the lock.
    """
    lock = checkout.git_dir / "index.lock"
    journal = f"reconciler moves {move.old} to {move.new}\n".encode()
    descriptor, unfinished = _take(checkout, lock, journal)
    stays = False
    try:
        os.pwrite(descriptor, journal, 0)  # first write, then cut: it never says nothing
        os.ftruncate(descriptor, len(journal))
        for prefix in (COPY_PREFIX, LOCK_PREFIX):
            for leftover in checkout.git_dir.glob(f"{prefix}*"):
                leftover.unlink(missing_ok=True)
        copy = checkout.git_dir / f"{COPY_PREFIX}{uuid.uuid4().hex}"
        with contextlib.suppress(FileNotFoundError):  # `git clone --no-checkout` has no index
            shutil.copy(checkout.git_dir / "index", copy)
        yield LockedIndex(
            checkout=checkout,
            git=checkout.git.having(variables={"GIT_INDEX_FILE": str(copy)}),
            copy=copy,
            unfinished=unfinished,
        )
    except MoveUnfinished:
        stays = True
        raise
    finally:
        for leftover in checkout.git_dir.glob(f"{COPY_PREFIX}*"):
            leftover.unlink()
        if not stays:
            lock.unlink(missing_ok=True)
        os.close(descriptor)


def left_behind(checkout: Checkout) -> Move | None:
    """Return what a lock of ours in this checkout says, `None` if there is none."""
    try:
        said = JOURNAL.fullmatch((checkout.git_dir / "index.lock").read_bytes())
    except OSError:
        return None
    return Move(said[1].decode(), said[2].decode()) if said else None


def _take(checkout: Checkout, lock: Path, journal: bytes) -> tuple[int, Move | None]:
    """Return a descriptor of the lock, and what its dead owner had begun.

    The lock is written elsewhere and linked into its place, so that there is no moment at which it
    exists and does not say whose it is.
    """
    prepared = checkout.git_dir / f"{LOCK_PREFIX}{uuid.uuid4().hex}"
    descriptor = os.open(prepared, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    try:
        os.write(descriptor, journal)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.link(prepared, lock)
    except FileExistsError:
        os.close(descriptor)
        return _take_over(checkout, lock)
    except BaseException:
        os.close(descriptor)
        raise
    finally:
        prepared.unlink(missing_ok=True)
    return descriptor, None


def _take_over(checkout: Checkout, lock: Path) -> tuple[int, Move | None]:
    unfinished = left_behind(checkout)
    with contextlib.suppress(OSError):
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.path.samestat(os.fstat(descriptor), lock.lstat())
        except OSError:
            os.close(descriptor)
            raise
        if unfinished is not None and same and left_behind(checkout) == unfinished:
            return descriptor, unfinished
        os.close(descriptor)
    raise CheckoutBusy(
        f"{checkout.folder}: git is at work here ({lock} exists); let it finish, "
        "and remove that file only if no git command is running"
    )
