"""Moves a branch together with the files of every checkout that has it checked out.

A branch that moves alone leaves its checkout with staged reversals, and the next `git commit -a`
there would undo what was decided. So either both move, or neither: first the indexes, then the
branch, then the files. A person's work is never
touched: an edited file keeps the edit, and whatever else is in the way refuses the move before
anything has changed.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from reconciler.errors import ShellError
from reconciler.model.records import dataclass, replace
from reconciler.shell.git.checkout.checkouts import (
    Checkout,
    IndexEntries,
    checked_out,
    find_checkouts,
    followed,
    index_entries,
    is_at,
)
from reconciler.shell.git.checkout.moves import (
    CheckoutMove,
    KeptEdit,
    ListedMove,
    LockedIndex,
    check_merge,
    enter_around_edits,
    enter_plainly,
    locked_index,
    merge,
    move_listed,
    note_index,
    refusal_of_move,
)
from reconciler.shell.git.command import CheckoutBusy, GitError, LostRace
from reconciler.shell.git.journal import NOTHING_MOVED, HeldEntry, StepUnfinished, journalled
from reconciler.shell.git.objects import changed_files
from reconciler.shell.git.publish import BranchMove, publish, publish_together
from reconciler.shell.git.recovery import recover, unfinished
from reconciler.shell.git.repository import Repository, check_branch
from reconciler.shell.processes.limits import sync_places
from reconciler.shell.processes.signals import held_signals


@dataclass(frozen=True, slots=True)
class PreparedCheckout:
    """A checkout that is ready to move; `listed` where its private index has moved already."""

    locked: LockedIndex
    listed: ListedMove | None


def advance(
    repository: Repository, branch: str, *, old: str | None, new: str, reason: str = "reconcile"
) -> tuple[KeptEdit, ...]:
    """Move a branch from `old` to `new`, and the files of its checkouts with it.

    A file of the step that a person edited keeps the edit; the others follow around it. Edits of
    other files stay as they are, staged or not. The index of a checkout is locked meanwhile, so a
    `git add` waits or fails instead of getting lost. What has begun is ended, also if a signal
    asks this process to end.

    Args:
        repository: Where the branch is.
        branch: Name without `refs/heads/`.
        old: Full hex id that the branch must be at; `None` if it must not exist.
        new: Full hex id of a commit.
        reason: For the log of the reference.

    Returns:
        The edits that stay.

    Raises:
        CheckoutBusy: Something else than an edit is in the way, or git is at work in the checkout.
            Nothing has changed; the message names the file and says what to do.
        LostRace: The branch is no longer at `old`. Nothing has changed.
        GitError: Git failed.
    """
    with held_signals():
        checkouts = find_checkouts(repository, check_branch(branch)) if old else []
        recover(repository)
        head = repository.find(branch)
        if head == new:
            return ()  # another process computed the same commit and was first
        if head != old:  # or else a stale plan would seem to be a person's work
            raise LostRace(f'branch "{branch}" is at {head or "nothing"}, no longer at {old}')
        moves = [BranchMove(branch, old, new)]
        with _ended(repository, moves), _journalled(repository, moves, checkouts) as step:
            if old is not None and checkouts:
                return _advance_all(repository, branch, checkouts, step, reason=reason)
            _publish(repository, moves, step, reason=reason)
    return ()


def advance_together(repository: Repository, moves: Sequence[BranchMove]) -> bool:
    """Move branches that no checkout has in one transaction, or none of them.

    Args:
        repository: Where the branches are.
        moves: From where to where; what is killed in between has moved those that come first.

    Returns:
        False if a checkout has one of them, so its files would have to follow; none has moved.

    Raises:
        LostRace: A branch is elsewhere. None has moved.
        GitError: Git failed.
    """
    if has_checkouts(repository, [move.name for move in moves]):
        return False
    with held_signals():
        recover(repository)
        with _ended(repository, moves), _journalled(repository, moves, ()) as step:
            _publish(repository, moves, step, reason="reconcile")
    return True


@contextlib.contextmanager
def _ended(repository: Repository, moves: Sequence[BranchMove]) -> Iterator[None]:
    """Let recovery end at once what fails half-way, a killed git command for instance.

    The failure of the block is told only if a branch has not moved, or a checkout cannot follow.
    """
    try:
        yield
    except NOTHING_MOVED:
        raise
    except Exception:
        with contextlib.suppress(ShellError, OSError):  # the first failure says why
            recover(repository)
            if all(repository.find(move.name) == move.new for move in moves):
                return
        raise


def _journalled(
    repository: Repository, moves: Sequence[BranchMove], checkouts: Sequence[Checkout]
) -> AbstractContextManager[HeldEntry]:
    """Return the block in which the journal has an entry of some moves."""
    first, *others = moves
    return journalled(
        repository,
        first.reference,
        old=first.old or "0" * len(first.new),
        new=first.new,
        checkouts=[checkout.folder for checkout in checkouts],
        beside={move.reference: move.new for move in others},
    )


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
) -> tuple[KeptEdit, ...]:
    """Move a branch and all of its checkouts, or none."""
    old, new = step.entry.old, step.entry.new
    move = CheckoutMove(old, new, changed_files(repository, old, new))
    kept: list[KeptEdit] = []
    with contextlib.ExitStack() as locks:
        prepared = [
            locks.enter_context(_prepared(repository, checkout, branch, move, step))
            for checkout in checkouts
        ]
        for ready in prepared:
            _install_ahead(ready, move)
        _publish(repository, [BranchMove(branch, old, new)], step, reason=reason)
        begun: list[LockedIndex] = []
        try:
            following = []
            for ready in prepared:
                if is_at(repository, ready.locked.checkout, f"refs/heads/{branch}", new):
                    following.append(ready)
                else:
                    ready.locked.put_back()
            for ready in following:
                begun.append(ready.locked)
                kept += _move(ready, move)
                folder = ready.locked.checkout.folder
                sync_places([folder / change.path for change in move.changes])
            for ready in following:
                ready.locked.install()
                note_index(ready.locked.checkout, old, new)
        except CheckoutBusy:
            _put_back(repository, branch, begun, move)
            raise
        except (GitError, OSError) as error:  # whatever is written now may fail, too
            raise StepUnfinished(unfinished(move.new, error)) from error
    return tuple(kept)


def _publish(
    repository: Repository, moves: Sequence[BranchMove], step: HeldEntry, *, reason: str
) -> None:
    """Move branches for good.

    Raises:
        StepUnfinished: The branches have moved, but the disk did not confirm it.
    """
    joined = replace(repository, git=step.joined(repository.git))
    publish_together(joined, moves, reason=reason)
    try:  # or else a loss of power could leave moved files beside a branch that is where it was
        sync_places([repository.common_dir / move.reference for move in moves])
    except OSError as error:
        raise StepUnfinished(unfinished(step.entry.new, error)) from error


@contextlib.contextmanager
def _prepared(
    repository: Repository, checkout: Checkout, branch: str, move: CheckoutMove, step: HeldEntry
) -> Iterator[PreparedCheckout]:
    """Lock a checkout for which the move will succeed.

    Raises:
        CheckoutBusy: A person's work is in the way.
        LostRace: A person left the branch since the checkout was found.
    """
    with locked_index(checkout, step) as locked:
        head = followed(repository, checked_out(checkout.git, checkout.git_dir))
        if head != f"refs/heads/{branch}".encode(errors="surrogateescape"):
            raise LostRace(f'{checkout.folder}: branch "{branch}" is no longer checked out')
        index = index_entries(locked.git, [change.path for change in move.changes])
        yield PreparedCheckout(locked, _enter(locked, index, move))


def _enter(locked: LockedIndex, index: IndexEntries, move: CheckoutMove) -> ListedMove | None:
    """Let the private index move if its files can move by a list, or see that git can move them.

    Raises:
        CheckoutBusy: A person's work is in the way.
    """
    listed = enter_plainly(locked, move.changes, index)
    if listed is not None:
        return listed
    try:
        check_merge(locked, index, move)
    except CheckoutBusy:
        around = enter_around_edits(locked, move.changes, index)
        if around is None:
            raise
        return around
    return None


def _install_ahead(prepared: PreparedCheckout, move: CheckoutMove) -> None:
    """Let the index be where the branch is about to be.

    Raises:
        CheckoutBusy: A person's work is in the way.
        GitError: Git failed.
    """
    locked = prepared.locked
    ahead = locked.draft_ahead()
    if ahead is None:
        return
    if prepared.listed is None:
        git = locked.git.having(variables={"GIT_INDEX_FILE": str(ahead)})
        finished = git.run("read-tree", "-m", move.old, move.new)
        if finished.code != 0:
            raise refusal_of_move(locked.checkout.folder, finished)
    locked.install_ahead(ahead)


def _move(prepared: PreparedCheckout, move: CheckoutMove) -> tuple[KeptEdit, ...]:
    if prepared.listed is not None:
        return move_listed(prepared.locked, prepared.listed)
    merge(prepared.locked.git, move)
    return ()


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
