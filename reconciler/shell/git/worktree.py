"""Moves a branch together with the files of every checkout that has it checked out.

A branch that moves alone leaves its checkout with staged reversals, and the next `git commit -a`
there would undo what was decided. So either both move, or neither. A person's work is never
touched: whatever is in the way refuses the move before anything has changed.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reconciler.shell.disk import refusal
from reconciler.shell.durable import sync_places
from reconciler.shell.git.checkouts import Checkout, checked_out, find_checkouts, refuse_obstacles
from reconciler.shell.git.command import Finished, Git, one_line
from reconciler.shell.git.errors import CheckoutBusy, GitError, LostRace
from reconciler.shell.git.index import LockedIndex, locked_index
from reconciler.shell.git.index_entries import IndexEntries, index_entries
from reconciler.shell.git.journal import HeldEntry, StepUnfinished, journalled
from reconciler.shell.git.objects import ChangedFile, changed_files
from reconciler.shell.git.plain_move import enter_plainly, move_plainly
from reconciler.shell.git.publish import BranchMove, publish, publish_together
from reconciler.shell.git.recovery import recover, unfinished
from reconciler.shell.git.reference_locks import left_locks
from reconciler.shell.git.repository import Repository, check_branch

ENTRY = re.compile(r"[Ee]ntry '(.+)' (not uptodate|would be overwritten)")


@dataclass(frozen=True, slots=True)
class CheckoutMove:
    """From which commit to which the files of a checkout go, full hex ids, and what differs."""

    old: str
    new: str
    changes: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True)
class PreparedCheckout:
    """A checkout that is ready to move; `plain` where its private index has moved already."""

    locked: LockedIndex
    plain: bool


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
    recover(repository)
    head = repository.find(branch)
    if head == new:
        return  # another process computed the same commit and was first
    if head != old:  # or else a stale plan would seem to be a person's work
        raise LostRace(f'branch "{branch}" is at {head or "nothing"}, no longer at {old}')
    with journalled(
        repository,
        f"refs/heads/{branch}",
        old=old or "0" * len(new),
        new=new,
        checkouts=[checkout.folder for checkout in checkouts],
    ) as step:
        if old is None or not checkouts:
            _publish(repository, [BranchMove(branch, old, new)], step, reason=reason)
        else:
            _advance_all(repository, branch, checkouts, step, reason=reason)


def advance_together(
    repository: Repository, moves: Sequence[BranchMove], *, reason: str = "reconcile"
) -> bool:
    """Move branches that no checkout has in one transaction, or none of them.

    Args:
        repository: Where the branches are.
        moves: From where to where; what is killed in between has moved those that come first.
        reason: For the log of the references.

    Returns:
        False if a checkout has one of them, so its files would have to follow; none has moved.

    Raises:
        LostRace: A branch is elsewhere. None has moved.
        GitError: Git failed.
    """
    if has_checkouts(repository, [move.name for move in moves]):
        return False
    recover(repository)
    first, *others = moves
    with journalled(
        repository,
        first.reference,
        old=first.old or "0" * len(first.new),
        new=first.new,
        beside={move.reference: move.new for move in others},
    ) as step:
        _publish(repository, moves, step, reason=reason)
    return True


def has_checkouts(repository: Repository, branches: Iterable[str]) -> bool:
    """Return whether a checkout has one of some branches, and must follow it.

    Raises:
        CheckoutBusy: One is being rebased.
    """
    return any(find_checkouts(repository, check_branch(name)) for name in branches)


def _advance_all(
    repository: Repository,
    branch: str,
    checkouts: Sequence[Checkout],
    step: HeldEntry,
    *,
    reason: str,
) -> None:
    """Move a branch and all of its checkouts, or none."""
    old, new = step.entry.old, step.entry.new
    move = CheckoutMove(old, new, changed_files(repository, old, new))
    with contextlib.ExitStack() as locks:
        prepared = [
            locks.enter_context(_prepared(checkout, branch, move, step)) for checkout in checkouts
        ]
        _publish(repository, [BranchMove(branch, old, new)], step, reason=reason)
        begun: list[LockedIndex] = []
        try:
            for one in prepared:
                begun.append(one.locked)
                _move(one, move)
                folder = one.locked.checkout.folder
                sync_places([folder / change.path for change in move.changes])
        except (GitError, OSError) as error:  # whatever is written now may fail, too
            raise StepUnfinished(unfinished(move.new, error)) from error
        except BaseException:
            _put_back(repository, branch, begun, move)
            raise
        try:
            for one in prepared:
                one.locked.install()
        except OSError as error:
            raise StepUnfinished(unfinished(move.new, error)) from error


def _publish(
    repository: Repository, moves: Sequence[BranchMove], step: HeldEntry, *, reason: str
) -> None:
    """Move branches for good.

    Raises:
        StepUnfinished: Git was killed, and left a lock; the next pass judges it. Or the branches
            have moved, but the disk did not confirm it.
    """
    joined = replace(repository, git=step.joined(repository.git))
    try:
        publish_together(joined, moves, reason=reason)
    except LostRace:
        raise
    except GitError as error:
        if left_locks(repository, step):
            raise StepUnfinished(str(error)) from error
        raise
    try:  # or else a loss of power could leave moved files beside a branch that is where it was
        sync_places([repository.common_dir / move.reference for move in moves])
    except OSError as error:
        raise StepUnfinished(unfinished(step.entry.new, error)) from error


@contextlib.contextmanager
def _prepared(
    checkout: Checkout, branch: str, move: CheckoutMove, step: HeldEntry
) -> Iterator[PreparedCheckout]:
    """Lock a checkout for which the move will succeed.

    Raises:
        CheckoutBusy: A person's work is in the way.
        LostRace: A person left the branch since the checkout was found.
    """
    with locked_index(checkout, step) as locked:
        head = checked_out(checkout.git, checkout.git_dir)
        if head != f"refs/heads/{branch}".encode(errors="surrogateescape"):
            raise LostRace(f'{checkout.folder}: branch "{branch}" is no longer checked out')
        index = index_entries(locked.git, [change.path for change in move.changes])
        plain = enter_plainly(locked, move.changes, index)
        if not plain:
            _check(locked, index, move)
        yield PreparedCheckout(locked, plain)


def _check(locked: LockedIndex, index: IndexEntries, move: CheckoutMove) -> None:
    """Refuse a move that would touch a person's work; nothing changes here."""
    # Else a file that was only touched, not changed, would refuse the move.
    locked.git.run("update-index", "-q", "--refresh")
    refuse_obstacles(locked.checkout, index, move.changes)
    dry = locked.git.run("read-tree", "-n", "-m", "-u", move.old, move.new)
    if dry.code != 0:
        raise _refusal(locked.checkout.folder, dry)


def _move(prepared: PreparedCheckout, move: CheckoutMove) -> None:
    if prepared.plain:
        move_plainly(prepared.locked, move.changes)
    else:
        _merge(prepared.locked.git, move)


def _merge(git: Git, move: CheckoutMove) -> None:
    arguments = ("read-tree", "-m", "-u", move.old, move.new)
    finished = git.run(*arguments)
    if finished.code < 0:  # killed: it refused nothing, and may have moved some of the files
        raise git.error(arguments, finished)
    if finished.code != 0:
        raise _refusal(git.folder, finished)


def _put_back(
    repository: Repository, branch: str, begun: Sequence[LockedIndex], move: CheckoutMove
) -> None:
    """Undo a move that failed half-way: somebody edited a file after the dry run."""
    for locked in begun:
        locked.git.run("read-tree", "-m", "-u", move.new, move.old)
    old, new = move.old, move.new
    try:
        publish(repository, branch, old=new, new=old, reason="put back: the checkout was busy")
    except LostRace as error:
        raise GitError(
            f'branch "{branch}" moved to {new} but its checkout did not; '
            "run git status there and restore the files it lists"
        ) from error


def _refusal(folder: Path, finished: Finished) -> CheckoutBusy | GitError:
    if found := refusal(finished.stderr, str(folder)):
        return GitError(found)
    entry = ENTRY.search(finished.stderr)
    if entry is None:
        return CheckoutBusy(f"{folder}: {one_line(finished.stderr)}")
    return CheckoutBusy(f'{folder}: "{entry[1]}" has changes; commit, stash or revert them')
