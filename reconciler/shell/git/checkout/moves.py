"""Brings the index and the files of a checkout to where its branch is.

The index is locked against git, and copied so that a move can be tried out. The lock file is the
one that every git command takes before it writes the index. It is a link to the entry of the crash
journal, so whoever finds it knows whose it is and what was to happen. The index moves before the
branch, as with git's own commands: a `git commit` that has read the old `HEAD` fails, and one that
has read the new one reads the new index after it. Until the step is over the index of before stands
beside it, so that a step that moves no branch leaves none behind.

Nearly always each file is, to the letter, what the last commit has. Then a move costs what changed,
and two passes of git over the index. A file that a user edited keeps the edit, which is reported,
and the others move around it. Everything else is left to `git read-tree`, which compares all of the
index with both commits: what git converts, such as line ends, what is outside of a sparse checkout,
links. It refuses where a user's work is in the way. In a step, git enters what the branch has into
the index, and writes the files. Which ones it may write is decided here: no content is overwritten
or removed that the commits of the step do not explain.

A `git commit` that has read the index before a pass locked it fails at `HEAD`, which has moved, and
still leaves its index of before; git's own merge has the same hole. The next commit would take the
decision back in that user's name. So where the index is another one than the step left, while the
branch is where the step brought it, each entry that is as it was before the step goes on to the
branch's, if the file on disk is the branch's already.
"""

import contextlib
import os
import re
import shlex
import stat
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from reconciler.manifests.paths import blob_id
from reconciler.model.records import dataclass
from reconciler.shell.git.checkout.checkouts import (
    LEFT_OUT,
    Checkout,
    IndexEntries,
    IndexEntry,
    find_checkouts,
    index_entries,
    open_checkout,
    refuse_obstacles,
)
from reconciler.shell.git.command import CheckoutBusy, Finished, Git, GitError, one_line
from reconciler.shell.git.journal import NOTHING_MOVED, HeldEntry
from reconciler.shell.git.objects import ChangedFile, TreeEntry, changed_files
from reconciler.shell.git.repository import COMMIT_ID, Repository
from reconciler.shell.processes.limits import refusal, sync_file, sync_folder, sync_places

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
    try:
        os.link(step.place, lock)
    except FileExistsError:
        if not step.is_linked_at(lock):
            raise CheckoutBusy(
                f"{checkout.folder}: git is at work here ({lock} exists); let it finish, and only "
                f"if no git command is running remove that file: rm {shlex.quote(str(lock))}"
            ) from None
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


ENTRY = re.compile(r"[Ee]ntry '(.+)' (not uptodate|would be overwritten)")


@dataclass(frozen=True, slots=True)
class CheckoutMove:
    """From which commit to which the files of a checkout go, full hex ids, and what differs."""

    old: str
    new: str
    changes: tuple[ChangedFile, ...]


def check_merge(locked: LockedIndex, index: IndexEntries, move: CheckoutMove) -> None:
    """Refuse a move that would touch a person's work; nothing changes here."""
    # Else a file that was only touched, not changed, would refuse the move.
    locked.git.run("update-index", "-q", "--refresh")
    refuse_obstacles(locked.checkout, index, move.changes)
    dry = locked.git.run("read-tree", "-n", "-m", "-u", move.old, move.new)
    if dry.code != 0:
        raise refusal_of_move(locked.checkout.folder, dry)


def merge(git: Git, move: CheckoutMove) -> None:
    """Move the files and the private index.

    Raises:
        CheckoutBusy: A person edited a file since.
        GitError: Git failed; some of the files may have moved.
    """
    arguments = ("read-tree", "-m", "-u", move.old, move.new)
    finished = git.run(*arguments)
    if finished.code != 0:
        raise refusal_of_move(git.folder, finished)


def refusal_of_move(folder: Path, finished: Finished) -> CheckoutBusy | GitError:
    """Return the error that a refusal of git stands for."""
    if problem := refusal(finished.stderr, str(folder)):
        return GitError(problem)
    entry = ENTRY.search(finished.stderr)
    if entry is None:
        return CheckoutBusy(f"{folder}: {one_line(finished.stderr)}")
    return CheckoutBusy(f'{folder}: "{entry[1]}" has changes; commit, stash or revert them')


class Missing:
    """Nothing stands at a path, and nothing is in the way."""


def finish(locked: LockedIndex, changes: Sequence[ChangedFile]) -> None:
    """Bring the index and the files of a checkout to where the branch is.

    Written are files that are missing, cut short or as they were before the step: git unlinks a
    file before it writes it anew. Any other content is a person's edit since: it stays, and
    `git status` shows it. A path that the index has neither as before nor as after the step was
    staged by a person, who must have removed our lock; it stays, too.

    Raises:
        GitError: Git failed.
    """
    entries = index_entries(locked.git, [change.path for change in changes]).by_path
    changes = [
        change
        for change in changes
        if _blob(entries.get(change.path)) in (_blob(change.before), _blob(change.after))
    ]
    enter(locked, changes, entries)
    present = [change for change in changes if not _is_left_out(entries.get(change.path))]
    folder = locked.checkout.folder
    write_out(
        locked,
        [change for change in present if _is_ours_to_write(locked, change)],
        [change.path for change in present if _is_ours_to_remove(folder, change)],
    )
    sync_places([locked.checkout.folder / change.path for change in present])
    locked.git.run("update-index", "-q", "--refresh")
    locked.install()


def _blob(entry: TreeEntry | IndexEntry | None) -> str | None:
    return entry.blob if entry is not None else None


def enter(
    locked: LockedIndex, changes: Sequence[ChangedFile], entries: Mapping[str, IndexEntry]
) -> None:
    """Enter into the index what the branch has; `entries` is what it had.

    Raises:
        GitError: Git failed; the index is as it was.
    """
    left_out = (
        f"{change.path}\0"
        for change in changes
        if change.after and _is_left_out(entries.get(change.path))
    )
    for options, lines in (
        (("--add", "--remove", "-z", "--index-info"), map(_record, changes)),
        (("--skip-worktree", "-z", "--stdin"), left_out),
    ):
        stdin = "".join(lines).encode(errors="surrogateescape")
        if stdin:
            locked.git.output("update-index", *options, stdin=stdin)


def _record(change: ChangedFile) -> str:
    """Return what a change makes of the index, by git-update-index(1)."""
    after = change.after
    zeros = "0" * len(change.before.blob if change.before is not None else "")
    return f"{after.mode} {after.blob}\t{change.path}\0" if after else f"0 {zeros}\t{change.path}\0"


def write_out(locked: LockedIndex, written: Iterable[ChangedFile], removed: Iterable[str]) -> None:
    """Let git write files as the index has them, and remove others, with folders left empty.

    Raises:
        GitError: Git failed; some of the files may be written.
    """
    stdin = b"".join(change.path.encode(errors="surrogateescape") + b"\0" for change in written)
    if stdin:
        locked.git.output("checkout-index", "--force", "--index", "-z", "--stdin", stdin=stdin)
    for path in removed:
        _remove(locked.checkout.folder, path)


def _is_ours_to_write(locked: LockedIndex, change: ChangedFile) -> bool:
    """Return whether what stands at a path is what the step left there, and no person's edit."""
    content = content_at(locked.checkout.folder, change.path)
    after = change.after
    if content is None or after is None or not after.is_file:
        return False
    if isinstance(content, Missing):
        return True
    name = blob_id(content, like=after.blob)
    if change.before is not None and name == change.before.blob:
        return True
    if name == after.blob:
        return False
    whole = locked.git.output("cat-file", "blob", after.blob)
    return whole.startswith(content.rstrip(b"\0"))  # a loss of power leaves zeros


def content_at(folder: Path, path: str) -> bytes | Missing | None:
    """Return what a plain file holds; `None` if a path leads through or to anything else."""
    place = folder
    try:
        for part in path.split("/")[:-1]:
            place /= part
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return None
        place = folder / path
        if not stat.S_ISREG(os.lstat(place).st_mode):
            return None
        return place.read_bytes()
    except FileNotFoundError:
        return Missing()


def _is_ours_to_remove(folder: Path, change: ChangedFile) -> bool:
    """Return whether a path that the step removes is as it was before, or was removed already."""
    if change.after is not None or change.before is None:
        return False
    content = content_at(folder, change.path)
    if isinstance(content, bytes):
        return blob_id(content, like=change.before.blob) == change.before.blob
    return isinstance(content, Missing)


def _remove(folder: Path, path: str) -> None:
    """Remove a file, and the folders that it leaves empty; no link is followed."""
    if content_at(folder, path) is None:
        return
    (folder / path).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty, or gone
        for parent in (folder / path).parents:
            if parent == folder:
                return
            parent.rmdir()


IN_PLACE = " ?"  # git-status(1): nothing is staged
NEW = "?A"


@dataclass(frozen=True, slots=True)
class KeptEdit:
    """A file of a checkout that is not what its branch has, since a person edited it.

    Attributes:
        folder: Top of the checkout.
        path: Relative to it, POSIX.
        staged: Whether the edit is staged, so that the next `git commit` takes it.
        gone: Whether the branch has no such file.
    """

    folder: Path
    path: str
    staged: bool = False
    gone: bool = False

    @property
    def command(self) -> str:
        """What a person runs to give the edit up."""
        path = shlex.quote(self.path)
        if not self.gone:
            return f"git -C {shlex.quote(str(self.folder))} checkout HEAD -- {path}"
        if self.staged:
            return f"git -C {shlex.quote(str(self.folder))} rm --force -- {path}"
        return f"rm {shlex.quote(str(self.folder / self.path))}"

    def __str__(self) -> str:
        state = "a staged edit" if self.staged else "an edit"
        return (
            f'"{self.path}" keeps {state} of yours in {self.folder}; commit it to have it decided '
            f"from, or take what was decided: {self.command}"
        )


def kept_edits(repository: Repository, root: str) -> tuple[KeptEdit, ...]:
    """Return the files of this checkout below a folder that are not as its branch has them.

    Args:
        repository: Opened in the checkout; a bare one has no edits.
        root: The folder, relative to the one that was opened.

    Raises:
        GitError: Git failed.
    """
    if repository.work_tree is None:
        return ()
    checkout = open_checkout(repository, repository.work_tree)
    listed = checkout.git.output(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=all", "--", repository.from_top(root),
    )  # fmt: skip
    records = listed.decode(errors="surrogateescape").split("\0")[:-1]
    return tuple(
        KeptEdit(
            checkout.folder, record[3:], staged=record[0] not in IN_PLACE, gone=record[0] in NEW
        )
        for record in records
    )


USUAL = "H"
SPARSE = "info/sparse-checkout"
EXECUTABLE = "100755"

Sign = tuple[int, ...]
"""What tells a file from the same place edited later; empty where there is none."""


@dataclass(frozen=True, slots=True)
class ListedMove:
    """A move of which the private index knows already, and no file.

    Attributes:
        changes: What is written and removed.
        signs: How each of their files looked when it was known whose it is.
        kept: A person's edits that stay.
    """

    changes: tuple[ChangedFile, ...]
    signs: Mapping[str, Sign]
    kept: tuple[KeptEdit, ...] = ()


def enter_plainly(
    locked: LockedIndex, changes: Sequence[ChangedFile], index: IndexEntries
) -> ListedMove | None:
    """Enter the changes into the private index if every file is as the commit before has it.

    Returns:
        `None` if one is not; the private index is as it was.

    Raises:
        GitError: Git failed; the private index is as it was.
    """
    folder = locked.checkout.folder
    odd = index.unmerged or index.obstacle
    if odd is not None or (locked.checkout.git_dir / SPARSE).exists():
        return None
    signs = {change.path: _file_sign(folder, change.path) for change in changes}
    if not all(_is_plain(folder, change, index.by_path.get(change.path)) for change in changes):
        return None
    enter(locked, changes, index.by_path)
    return ListedMove(tuple(changes), signs)


def enter_around_edits(
    locked: LockedIndex, changes: Sequence[ChangedFile], index: IndexEntries
) -> ListedMove | None:
    """Enter the changes into the private index if nothing but edits of files is in the way.

    What a person staged stays staged. `git status` shows any other edit as one of the new commit.

    Args:
        locked: Its private index was refreshed.
        changes: What differs between the two commits.
        index: What the private index has of them.

    Returns:
        `None` if no file is edited; the private index is as it was.

    Raises:
        CheckoutBusy: Something else is in the way.
        GitError: Git failed.
    """
    folder = locked.checkout.folder
    signs = {change.path: _file_sign(folder, change.path) for change in changes}
    listed = locked.git.output("diff-files", "--name-only", "-z", "--ignore-submodules=all")
    differing = set(listed.decode(errors="surrogateescape").split("\0"))
    entered = {change.path: _entry(index, change.path) for change in changes}
    staged = {one.path for one in changes if entered[one.path] not in (one.before, one.after)}
    edited = {
        change.path
        for change in changes
        if change.path in differing
        or entered[change.path] != change.before
        or (change.before is None and signs[change.path])
    }
    edited = {path for path in edited if _is_file_below_folders(folder, path)}
    rest = [change for change in changes if change.path not in edited]
    refuse_obstacles(locked.checkout, index, rest)
    if not edited or any(_is_folder(signs[change.path]) for change in rest):
        return None
    enter(locked, [change for change in changes if change.path not in staged], index.by_path)
    kept = (
        KeptEdit(folder, change.path, staged=change.path in staged, gone=change.after is None)
        for change in changes
        if change.path in edited and not _holds(folder, change.path, change.after)
    )
    present = (change for change in rest if not _is_left_out(index.by_path.get(change.path)))
    return ListedMove(tuple(present), signs, tuple(kept))


def move_listed(locked: LockedIndex, move: ListedMove) -> tuple[KeptEdit, ...]:
    """Write and remove the files of which the private index knows; return the edits that stay.

    Raises:
        GitError: Git failed; some may have moved.
    """
    folder = locked.checkout.folder
    fresh: list[ChangedFile] = []
    edited: list[ChangedFile] = []
    for change in move.changes:
        same = _file_sign(folder, change.path) == move.signs[change.path]
        (fresh if same else edited).append(change)
    write_out(
        locked,
        [change for change in fresh if change.after is not None],
        [change.path for change in fresh if change.after is None],
    )
    since = (KeptEdit(folder, change.path, gone=change.after is None) for change in edited)
    return (*move.kept, *since)


def _is_plain(folder: Path, change: ChangedFile, entry: IndexEntry | None) -> bool:
    """Return whether the index and the folder have a path as it was, and files on both sides."""
    before, after = change.before, change.after
    if any(side is not None and not side.is_file for side in (before, after)):
        return False
    expected = None if before is None else IndexEntry(USUAL, before.mode, before.blob)
    return entry == expected and _is_as_before(folder, change)


def _is_as_before(folder: Path, change: ChangedFile) -> bool:
    """Return whether a path of the folder holds what the commit before has, byte for byte."""
    before = change.before
    try:
        if before is None or not _holds(folder, change.path, before):
            return before is None and _holds(folder, change.path, None)
        executable = bool(os.lstat(folder / change.path).st_mode & 0o100)
    except OSError:  # gone in between, or not ours to read
        return False
    return executable == (before.mode == EXECUTABLE)


def _entry(index: IndexEntries, path: str) -> TreeEntry | None:
    entry = index.by_path.get(path)
    return None if entry is None else TreeEntry(entry.mode, entry.blob)


def _holds(folder: Path, path: str, entry: TreeEntry | None) -> bool:
    """Return whether a path holds what a commit has there, `None` for nothing."""
    content = content_at(folder, path)
    if entry is None:
        return isinstance(content, Missing)
    return isinstance(content, bytes) and blob_id(content, like=entry.blob) == entry.blob


def _is_file_below_folders(folder: Path, path: str) -> bool:
    """Return whether a path holds no folder, and no link or file stands above it."""
    above = [folder / parent for parent in PurePosixPath(path).parents][:-1]
    signs = [_file_sign(folder, str(place)) for place in above]
    return not _is_folder(_file_sign(folder, path)) and all(
        _is_folder(sign) for sign in signs if sign
    )


def _is_folder(sign: Sign) -> bool:
    return bool(sign) and stat.S_ISDIR(sign[2])


def _is_left_out(entry: IndexEntry | None) -> bool:
    return entry is not None and entry.mark == LEFT_OUT


def _file_sign(folder: Path, path: str) -> Sign:
    """Return what stands at a path now; its folders are looked at where it is written."""
    try:
        facts = os.lstat(os.path.join(folder, path))  # noqa: PTH118  # a Path takes as long again
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return (facts.st_dev, facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns)


LEFT = "reconciler-left"
"""In a git folder: from which commit to which the last step went, and the index that it left."""


def note_index(checkout: Checkout, old: str, new: str) -> None:
    """Note the index that a step has left; nothing breaks where that is lost."""
    (checkout.git_dir / LEFT).write_text(f"{old} {new} {_index_sign(checkout.git_dir)}\n")


def mend_indexes(repository: Repository, branch: str) -> tuple[str, ...]:
    """Mend the indexes of the checkouts of a branch; return what was done, a sentence for each.

    Where git is at work it is left for the next look.

    Args:
        repository: Where the branch is.
        branch: Name without `refs/heads/`.
    """
    folders = [repository.git_dir, repository.common_dir, *_linked(repository)]
    if not any(_may_differ(repository, branch, folder) for folder in folders):
        return ()  # the usual case, and it starts no process
    try:
        return tuple(_mended(repository, branch))
    except CheckoutBusy:  # it is being rebased
        return ()


def _mended(repository: Repository, branch: str) -> Iterator[str]:
    for checkout in find_checkouts(repository, branch):
        if not _may_differ(repository, branch, checkout.git_dir):
            continue
        if (checkout.git_dir / "index.lock").exists():
            continue
        old, new, _ = _noted(checkout.git_dir)
        count = _mend(repository, checkout, old, new)
        note_index(checkout, old, new)
        if count:
            paths = f"{count} path{'s' if count != 1 else ''}"
            yield (
                f"{checkout.folder}: a git command that ran beside a pass had put the index back "
                f"for {paths}; it is as the branch again"
            )


def _linked(repository: Repository) -> list[Path]:
    """Return the git folders of linked worktrees."""
    try:
        return sorted((repository.common_dir / "worktrees").iterdir())
    except OSError:
        return []


def _may_differ(repository: Repository, branch: str, git_dir: Path) -> bool:
    """Return whether an index is another than a step left, while its branch is where that was."""
    _, new, sign = _noted(git_dir)
    return bool(new) and sign != _index_sign(git_dir) and repository.find(branch) == new


def _mend(repository: Repository, checkout: Checkout, old: str, new: str) -> int:
    """Let the entries that are as before a step go on to the branch's; return how many did."""
    listed = checkout.git.run("diff-index", "--cached", "--raw", "-z", "--no-renames", new)
    if listed.code != 0:
        return 0
    staged = dict(_staged(listed.stdout.decode(errors="surrogateescape")))
    if not staged:
        return 0
    changes = [change for change in changed_files(repository, old, new) if change.path in staged]
    wrong = [change for change in changes if _is_put_back(checkout, change, staged[change.path])]
    records = "".join(map(_record, wrong)).encode(errors="surrogateescape")
    if not records:
        return 0
    done = checkout.git.run(
        "update-index", "--add", "--remove", "-z", "--index-info", stdin=records
    )
    checkout.git.run("update-index", "-q", "--refresh")
    return len(wrong) if done.code == 0 else 0


def _staged(raw: str) -> Iterator[tuple[str, str]]:
    """Yield the paths at which the index differs, with the blob that it has, zeros for none."""
    fields = iter(raw.split("\0"))
    for facts in fields:
        if facts:
            yield next(fields), facts.split(" ")[3]


def _is_put_back(checkout: Checkout, change: ChangedFile, staged: str) -> bool:
    """Return whether the index has a path as before the step, and the disk as after it."""
    before = change.before.blob if change.before is not None else "0" * len(staged)
    return staged == before and _holds(checkout.folder, change.path, change.after)


def _noted(git_dir: Path) -> tuple[str, str, str]:
    """Return what was noted, empty texts if nothing was."""
    try:
        old, new, *sign = (git_dir / LEFT).read_text().split()
    except (OSError, ValueError):
        return "", "", ""
    if COMMIT_ID.fullmatch(old) is None or COMMIT_ID.fullmatch(new) is None:
        return "", "", ""
    return old, new, " ".join(sign)


def _index_sign(git_dir: Path) -> str:
    """Return what tells an index from one written later."""
    try:
        facts = (git_dir / "index").stat()
    except OSError:
        return "none"
    return f"{facts.st_ino} {facts.st_mtime_ns} {facts.st_size}"
