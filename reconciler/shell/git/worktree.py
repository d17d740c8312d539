"""Moves a branch together with the files of every checkout that has it checked out.

A branch that moves alone leaves its checkout with staged reversals, and the next `git commit -a`
there would undo what was decided. So either both move, or neither. A person's work is never
touched: whatever is in the way refuses the move before anything has changed.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.shell.disk import refusal
from reconciler.shell.git.checkouts import Checkout, find_checkouts, refuse_obstacles
from reconciler.shell.git.command import Finished, Git, one_line
from reconciler.shell.git.errors import CheckoutBusy, GitError, LostRace
from reconciler.shell.git.index import LockedIndex, Move, MoveUnfinished, left_behind, locked_index
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
    _recover(repository, checkouts, head=repository.find(branch))
    head = repository.find(branch)
    if head == new:
        return  # somebody computed the same commit and was first
    if head != old:  # or else a stale plan would seem to be a person's work
        raise LostRace(f'branch "{branch}" is at {head or "nothing"}, no longer at {old}')
    move = Move(old, new)
    changes = changed_files(repository, old, new)
    with contextlib.ExitStack() as locks:
        prepared = [
            locks.enter_context(_prepared(checkout, branch, changes, move))
            for checkout in checkouts
        ]
        publish(repository, branch, old=old, new=new, reason=reason)
        begun: list[LockedIndex] = []
        try:
            for locked in prepared:
                begun.append(locked)
                _move(locked.git, move)
        except (GitError, OSError) as error:  # whatever is written now may fail, too
            raise MoveUnfinished(_unfinished(move, error)) from error
        except BaseException:
            _put_back(repository, branch, begun, move)
            raise
        for locked in prepared:
            locked.install()


def recover(repository: Repository, branch: str) -> None:
    """Finish a move that a killed process left half-done, so that nobody finds a stale lock.

    Call it before a pass, since there may be nothing to do; `advance` does so too.

    Raises:
        CheckoutBusy: A person edited a file since; the lock is gone, and `git status` tells.
    """
    checkouts = find_checkouts(repository, check_branch(branch))
    _recover(repository, checkouts, head=repository.find(branch))


def _recover(repository: Repository, checkouts: Sequence[Checkout], *, head: str | None) -> None:
    for checkout in checkouts:
        move = left_behind(checkout)
        if move is None:
            continue
        moved = head is not None and _contains(repository, head, move.new)
        changes = changed_files(repository, move.old, move.new) if moved else ()
        with locked_index(checkout, move) as locked:
            if not moved:
                continue  # killed before the branch moved, so before any file did
            try:
                _finish(locked, changes, move)
            except (GitError, OSError) as error:
                raise MoveUnfinished(_unfinished(move, error)) from error


def _finish(locked: LockedIndex, changes: Sequence[ChangedFile], move: Move) -> None:
    """Move the files that a killed process did not, or that the disk did not take."""
    _complete(locked, changes)
    done = _adopt(locked, changes, move)
    _check(locked, [change for change in changes if change.path not in done], move)
    _move(locked.git, move)
    locked.install()


def _unfinished(move: Move, error: Exception) -> str:
    """Say how far a move is, and why no farther."""
    return f"the branch is at {move.new[:12]}, its checkout follows with the next pass: {error}"


def _contains(repository: Repository, tip: str, commit: str) -> bool:
    return repository.git.run("merge-base", "--is-ancestor", commit, tip).code == 0


def _adopt(locked: LockedIndex, changes: Sequence[ChangedFile], move: Move) -> set[str]:
    """Enter into the index what was moved already; return its paths."""
    folder = locked.checkout.folder
    done, records = set(), []
    for change in changes:
        place, after = folder / change.path, change.after
        if after is None:
            there = not place.exists() and not place.is_symlink()
        else:
            there = after.is_file and place.is_file() and not place.is_symlink()
            there = there and after.blob == locked.git.line(
                "hash-object", "--no-filters", "--", str(place)
            )
        if there:
            done.add(change.path)
            entry = f"{after.mode} {after.blob}" if after else f"0 {'0' * len(move.new)}"
            records.append(f"{entry}\t{change.path}\0")
    stdin = "".join(records).encode(errors="surrogateescape")
    locked.git.output("update-index", "--add", "--remove", "-z", "--index-info", stdin=stdin)
    return done


def _complete(locked: LockedIndex, changes: Sequence[ChangedFile]) -> None:
    """Write the rest of files of which only the beginning was written, since the disk was full."""
    for change in changes:
        place, after = locked.checkout.folder / change.path, change.after
        if after is None or not after.is_file or place.is_symlink() or not place.is_file():
            continue
        whole, found = locked.git.output("cat-file", "blob", after.blob), place.read_bytes()
        if len(found) < len(whole) and whole.startswith(found):
            place.write_bytes(whole)


@contextlib.contextmanager
def _prepared(
    checkout: Checkout, branch: str, changes: Sequence[ChangedFile], move: Move
) -> Iterator[LockedIndex]:
    """Lock a checkout for which the move will succeed.

    Raises:
        CheckoutBusy: A person's work is in the way.
        LostRace: A person left the branch since the checkout was found.
    """
    with locked_index(checkout, move) as locked:
        head = checkout.git.run("symbolic-ref", "--quiet", "HEAD").stdout
        if head.removesuffix(b"\n") != f"refs/heads/{branch}".encode(errors="surrogateescape"):
            raise LostRace(f'{checkout.folder}: branch "{branch}" is no longer checked out')
        _check(locked, changes, move)
        yield locked


def _check(locked: LockedIndex, changes: Sequence[ChangedFile], move: Move) -> None:
    """Refuse a move that would touch a person's work; nothing changes here."""
    # Else a file that was only touched, not changed, would refuse the move.
    locked.git.run("update-index", "-q", "--refresh")
    refuse_obstacles(locked.checkout, locked.git, changes)
    dry = locked.git.run("read-tree", "-n", "-m", "-u", move.old, move.new)
    if dry.code != 0:
        raise _refusal(locked.checkout.folder, dry)


def _move(git: Git, move: Move) -> None:
    finished = git.run("read-tree", "-m", "-u", move.old, move.new)
    if finished.code != 0:
        raise _refusal(git.folder, finished)


def _put_back(
    repository: Repository, branch: str, begun: Sequence[LockedIndex], move: Move
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
