"""Which folders have a branch checked out, and what stands in the way of moving their files.

The index of a checkout answers for the paths that are asked about. Files that a user is editing are
found in every checkout that would have to follow a branch.
"""

import contextlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.model.records import dataclass
from reconciler.shell.git.command import CheckoutBusy, Git
from reconciler.shell.git.objects import ChangedFile
from reconciler.shell.git.repository import Repository, may_configure

UNMERGED = ord("M")
LEFT_OUT = "S"  # git ls-files: the file is outside of a sparse checkout


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One path of an index.

    Attributes:
        mark: The letter of `git ls-files -v`. H: as usual. S: left out by a sparse checkout. M:
            unmerged. Lower case: assumed unchanged.
        mode: As git writes it.
        blob: Full hex id; of a merge that is not done, one of them.
    """

    mark: str
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class IndexEntries:
    """The entries of the paths that were asked for.

    Attributes:
        by_path: Absent are those that the index does not have.
        unmerged: A path with a merge conflict, of all that the index has; `None` if there is none.
        obstacle: A path that cannot be in one index with those asked for, since one of two is a
            folder of the other; `None` if there is none.
    """

    by_path: Mapping[str, IndexEntry]
    unmerged: str | None
    obstacle: str | None


def index_entries(git: Git, paths: Collection[str]) -> IndexEntries:
    """Return what the index has for some paths.

    Git lists all of it, once; with the paths as arguments it would compare each with each.
    """
    wanted = {path.encode(errors="surrogateescape") for path in paths}
    records = git.output("ls-files", "-v", "--stage", "-z").split(b"\0")[:-1]
    begin = records[0].index(b"\t") + 1 if records else 0  # ids are of one length, and so are modes
    entries = {}
    unmerged = None
    for record in records:
        if record[begin:] in wanted:
            entries[record[begin:]] = IndexEntry(*record[: begin - 1].decode().split(" ")[:3])
        if record[0] == UNMERGED and unmerged is None:
            unmerged = record[begin:]
    others = (record[begin:] for record in records if record[begin:] not in wanted)
    obstacle = _obstacle(others, wanted - entries.keys())
    by_path = {_text(path): entry for path, entry in entries.items()}
    return IndexEntries(by_path, _text_of(unmerged), _text_of(obstacle))


def _obstacle(paths: Iterable[bytes], absent: set[bytes]) -> bytes | None:
    """Return a path of the index that excludes one that it does not have."""
    if not absent:
        return None
    above = {folder for path in absent for folder in _folders(path)}
    by_folder = {}
    for path in paths:
        if path in above:
            return path
        by_folder[path.rpartition(b"/")[0]] = path
    excluding = (
        path
        for folder, path in by_folder.items()
        if not absent.isdisjoint((folder, *_folders(folder)))
    )
    return next(excluding, None)


def _folders(path: bytes) -> Iterator[bytes]:
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _text(path: bytes) -> str:
    return path.decode(errors="surrogateescape")


def _text_of(path: bytes | None) -> str | None:
    return None if path is None else _text(path)


MOST_FOLLOWED = 5
PLAIN_HEAD = re.compile(rb"ref: (refs/heads/(?!\.)[^\n]+)\n?")
"""Source: gitrepository-layout(5). Where references are in tables, it names `.invalid`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A folder of files that follows a branch. `git` runs in it and never runs a filter."""

    folder: Path
    git_dir: Path
    git: Git


def find_checkouts(repository: Repository, branch: str) -> list[Checkout]:
    """Return every checkout of a branch, linked worktrees included, sorted by folder.

    A worktree whose folder is gone has no files to move and is left out.

    Raises:
        CheckoutBusy: The branch is being rebased in one of them.
    """
    folders = _listed(repository) if _may_list_others(repository) else {}
    if repository.work_tree is not None and repository.work_tree not in folders:
        # Not listed if its git folder lies elsewhere.
        folders[repository.work_tree] = checked_out(repository.git, repository.git_dir)
    checkouts: dict[Path, Checkout] = {}
    for folder, reference in folders.items():
        if not (folder / ".git").exists():
            continue
        checkout = open_checkout(repository, folder)
        named = followed(repository, reference.strip())
        if named == f"refs/heads/{branch}".encode(errors="surrogateescape"):
            checkouts.setdefault(checkout.git_dir, checkout)
        else:
            _refuse_rebase(checkout, branch)
    return sorted(checkouts.values(), key=lambda checkout: checkout.folder)


def _may_list_others(repository: Repository) -> bool:
    """Return whether git may know other checkouts than the one that was opened.

    They are linked worktrees, or the folder that holds a `.git`.
    """
    try:
        if any((repository.common_dir / "worktrees").iterdir()):
            return True
    except FileNotFoundError:
        pass
    except OSError:
        return True
    common_dir = repository.common_dir
    return common_dir.name == ".git" and common_dir.parent != repository.work_tree


def _refuse_rebase(checkout: Checkout, branch: str) -> None:
    for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
        marker = checkout.git_dir / name
        if marker.is_file() and marker.read_text().strip() == f"refs/heads/{branch}":
            raise CheckoutBusy(
                f'{checkout.folder}: branch "{branch}" is being rebased; '
                "finish it, or give it up with git rebase --abort"
            )


def checked_out(git: Git, git_dir: Path) -> bytes:
    """Return the full name of the branch that is checked out, empty if none is.

    Git is asked where `HEAD` is not the plain file that it nearly always is.
    """
    with contextlib.suppress(OSError):
        named = PLAIN_HEAD.fullmatch((git_dir / "HEAD").read_bytes())
        if named is not None:
            return named[1]
    return git.run("symbolic-ref", "--quiet", "HEAD").stdout.removesuffix(b"\n")


def is_at(repository: Repository, checkout: Checkout, reference: str, commit: str) -> bool:
    """Return whether a checkout is on a branch that has moved to a commit, or at that commit.

    `git switch -c` leaves a branch without a lock on the index: before it moved, for another one
    at the old commit, or after it moved, for one at the new commit.
    """
    named = followed(repository, checked_out(checkout.git, checkout.git_dir))
    if named == reference.encode(errors="surrogateescape"):
        return True
    head = checkout.git.run("rev-parse", "--quiet", "--verify", "HEAD").stdout
    return head.decode().strip() == commit


def followed(repository: Repository, reference: bytes) -> bytes:
    """Return where a reference leads that is a name for another one, else itself.

    Source: gitrepository-layout(5); git follows five of them at most.
    """
    for _ in range(MOST_FOLLOWED):
        place = repository.common_dir / reference.decode(errors="surrogateescape")
        try:
            named = PLAIN_HEAD.fullmatch(place.read_bytes()) if reference else None
        except OSError:  # packed, in a table, or gone: such a name stands in a file of its own
            return reference
        if named is None:
            return reference
        reference = named[1]
    return reference


def _listed(repository: Repository) -> dict[Path, bytes]:
    """Return the folders that git knows, each with the reference that is checked out."""
    listed = repository.git.output("worktree", "list", "--porcelain", "-z")
    folders = {}
    for record in listed.split(b"\0\0"):
        facts = dict(line.partition(b" ")[::2] for line in record.split(b"\0") if line)
        if b"worktree" in facts and b"bare" not in facts:
            folder = Path(facts[b"worktree"].decode(errors="surrogateescape"))
            folders[folder] = facts.get(b"branch", b"")
    return folders


def refuse_obstacles(
    checkout: Checkout, index: IndexEntries, changes: Sequence[ChangedFile]
) -> None:
    """Refuse if a file that must move is not as its last commit has it.

    This asks what `git read-tree -m -u` does not: it would overwrite an ignored file, and bring
    back a file that a person deleted.

    Args:
        checkout: The folder to look into; no symlink is followed.
        index: What its index has for the paths of the changes.
        changes: What differs between the two commits.

    Raises:
        CheckoutBusy: Something is in the way; it names the file.
    """
    if index.unmerged is not None:  # wherever it is, git moves no file of this checkout
        raise CheckoutBusy(
            f'{checkout.folder}: "{index.unmerged}" has a merge conflict; resolve it and commit, '
            "or undo the merge with git merge --abort"
        )
    if index.obstacle is not None:
        raise CheckoutBusy(
            f'{checkout.folder}: "{index.obstacle}" is staged where a folder must be, or where a '
            "file must be its folder; commit or unstage it"
        )
    for change in changes:
        entry = index.by_path.get(change.path)
        mark = None if entry is None else entry.mark
        if mark is not None and mark.islower():
            raise _busy(
                checkout, change, 'is marked "assume unchanged"', "unmark it with git update-index"
            )
        if (change.before is None) != (mark is None):
            state = "is staged for deletion" if mark is None else "is staged already"
            raise _busy(checkout, change, state, "commit or unstage it")
        _refuse_file(checkout, change, expected=change.before is not None and mark != "S")


def _refuse_file(checkout: Checkout, change: ChangedFile, *, expected: bool) -> None:
    """Look at one path of the work tree, part by part."""
    place = checkout.folder
    *folders, name = change.path.split("/")
    for folder in folders:
        place /= folder
        mode = mode_at(place)
        if mode is None:
            break
        if not stat.S_ISDIR(mode):
            link = "is a symbolic link" if stat.S_ISLNK(mode) else "is not a folder"
            relative = place.relative_to(checkout.folder).as_posix()
            raise CheckoutBusy(
                f'{checkout.folder}: "{relative}" {link}, and "{change.path}" goes below it; '
                "move it away"
            )
    present = mode_at(checkout.folder.joinpath(*folders, name))
    if present is None and expected:
        raise _busy(checkout, change, "was deleted", "commit the deletion or restore the file")
    if present is not None and not expected:
        raise _busy(checkout, change, "is in the way and not under version control", "move it away")


def mode_at(place: Path) -> int | None:
    """Return the mode of what stands at a place, links not followed; `None` if nothing does."""
    try:
        return os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _busy(checkout: Checkout, change: ChangedFile, state: str, advice: str) -> CheckoutBusy:
    return CheckoutBusy(f'{checkout.folder}: "{change.path}" {state}; {advice}')


def open_checkout(repository: Repository, folder: Path) -> Checkout:
    """Return a checkout in which git runs no filter."""
    git = Git(
        folder=folder,
        options=(f"--git-dir={folder / '.git'}", f"--work-tree={folder}"),
        variables=repository.git.variables,
    )
    opened = folder == repository.work_tree
    git_dir = repository.git_dir if opened else Path(git.line("rev-parse", "--absolute-git-dir"))
    filters = _no_filters(git) if may_configure(repository, "filter") else {}
    return Checkout(folder=folder, git_dir=git_dir, git=git.having(settings=filters))


def _no_filters(git: Git) -> dict[str, str]:
    """Return settings that switch off every filter that the repository's configuration names.

    A filter is a program, run for each file that an attribute gives to it.
    """
    listed = git.output("config", "--list", "--name-only", "-z").decode(errors="surrogateescape")
    settings: dict[str, str] = {}
    for key in listed.split("\0"):
        if key.startswith("filter."):
            name = key.rpartition(".")[0]
            settings |= {f"{name}.{part}": "" for part in ("clean", "smudge", "process")}
            settings[f"{name}.required"] = "false"
    return settings


def files_being_edited(
    repository: Repository, branch: str, revision: str, paths: Iterable[str]
) -> frozenset[str]:
    """Return the files that are not as a commit has them, staged or not, in any checkout.

    Args:
        repository: Where the branch is.
        branch: Name without `refs/heads/`.
        revision: Full hex id of the branch's commit.
        paths: Relative to the root.

    Raises:
        CheckoutBusy: The branch is being rebased in one of the checkouts.
        GitError: Git failed.
    """
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    wanted = {f"{prefix}{path}": path for path in paths}
    if not wanted:
        return frozenset()
    edited: set[str] = set()
    compare = ("diff", "--name-only", "--no-ext-diff", "--no-renames", "-z")
    for checkout in find_checkouts(repository, branch):
        for index in ((), ("--cached",)):
            listed = checkout.git.output(*compare, *index, revision, "--", *wanted)
            edited.update(listed.decode(errors="surrogateescape").split("\0")[:-1])
        marks = checkout.git.output("ls-files", "-v", "-z", "--", *wanted)
        for record in marks.decode(errors="surrogateescape").split("\0")[:-1]:
            if record[0].islower():  # assumed unchanged, so that git diff does not look
                edited.add(record[2:])
    return frozenset(wanted[path] for path in edited if path in wanted)
