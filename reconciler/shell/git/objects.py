"""Reads in bulk from the object database; nothing is ever checked out.

Objects that a branch needs and git no longer has are found here: a collector took them, or the
disk.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from reconciler.manifests.text.raw import MAX_READ_BYTES, Oversized
from reconciler.model.records import replace
from reconciler.model.text import enumerated, short_id, shown
from reconciler.shell.git.command import GitError, LostObjects
from reconciler.shell.git.repository import COMMIT_ID, Repository, check_commit

CHUNK_BYTES = 1024 * 1024
READ_SECONDS = 600.0  # a reader may parse while it reads

REGULAR = ("100644", "100755", "100664")  # the last one only in very old histories
SYMLINK = "120000"
GITLINK = "160000"
TREE = "040000"
ABSENT = "000000"


class TreeEntry(NamedTuple):
    """A file of a tree: its mode as git writes it, and the full hex id of its blob."""

    mode: str
    blob: str

    @property
    def is_file(self) -> bool:
        """True of a regular file; false of a symlink or a submodule, which are never followed."""
        return self.mode in REGULAR

    @property
    def is_symlink(self) -> bool:
        """True if the blob holds the target of a symbolic link."""
        return self.mode == SYMLINK

    @property
    def is_gitlink(self) -> bool:
        """True of a submodule; `blob` is then a commit of another repository."""
        return self.mode == GITLINK


def tree_entry(mode: str, blob: str) -> TreeEntry | None:
    """Return one side of a difference as git tells it, `None` where nothing is there."""
    return None if mode == ABSENT else TreeEntry(mode, blob)


class ChangedFile(NamedTuple):
    """A path that differs between two commits; `None` means absent on that side."""

    path: str
    before: TreeEntry | None
    after: TreeEntry | None


def list_files(repository: Repository, revision: str, *, prefix: str = "") -> dict[str, TreeEntry]:
    """Return every file of a commit, symlinks and submodules included and marked as such.

    Args:
        repository: Where to read.
        revision: Full hex commit id.
        prefix: Only what is below this folder; POSIX, no slash at the end.

    Returns:
        Path relative to `prefix` to entry, in git's order. A path that is not UTF-8 has surrogates
        in place of its odd bytes. Empty if there is no such folder.
    """
    folder = f"{prefix}/" if prefix else ""
    wanted = ("--", folder) if folder else ()
    listed = repository.git.output(
        "ls-tree", "-r", "-z", "--full-tree", check_commit(revision), *wanted
    )
    files = {}
    for record in _records(listed):
        facts, _, path = record.partition("\t")
        mode, _, blob = facts.split(" ")
        files[path.removeprefix(folder)] = TreeEntry(mode, blob)
    return files


def read_blobs(
    repository: Repository, ids: Iterable[str], *, limit_bytes: int = MAX_READ_BYTES
) -> Iterator[tuple[str, bytes | Oversized]]:
    """Read blobs, in the order asked for.

    A process that is kept answers for all of them, and no more than one blob is held at a time. A
    blob above the limit is read past, not kept.

    Args:
        repository: Where to read.
        ids: Full hex ids of blobs.
        limit_bytes: Size up to which content is returned.

    Yields:
        The id, and the content or its size.

    Raises:
        GitError: An object is missing, or is no blob; the id is in the message. Or git ended before
            it had said all of one.
    """
    return read_objects(repository, ids, kind="blob", limit_bytes=limit_bytes)


def read_objects(
    repository: Repository, ids: Iterable[str], *, kind: str, limit_bytes: int = MAX_READ_BYTES
) -> Iterator[tuple[str, bytes | Oversized]]:
    """Read objects of one kind, as `read_blobs` does.

    Ids may come from files that people edit; anything else would be an expression to git.
    """
    patient = replace(repository.git, timeout_seconds=READ_SECONDS)
    wanted = list(ids)
    for name in wanted:
        if COMMIT_ID.fullmatch(name) is None:
            raise GitError(f"{shown(name)} is no id of an object of git")
    with repository.kept.lent(patient, "cat-file", "--batch") as git:
        answers = git.answers([f"{name}\n".encode("ascii") for name in wanted])
        for name, (line, output) in zip(wanted, answers, strict=True):
            header = line.decode("ascii", errors="replace").split()
            if len(header) != 3 or header[1] != kind:
                lacks = " ".join(header[1:]) or "no answer"
                partial = repository.git.partial(lacks)
                raise partial or GitError(f"git has no {kind} {name}: {lacks}")
            content = _content(output, int(header[2]), limit_bytes)
            if content is None:
                raise git.ended()
            yield name, content


def object_sizes(repository: Repository, ids: Sequence[str]) -> list[int]:
    """Return the size in bytes of each object, in the order asked for; none of them is read.

    Raises:
        GitError: An object is missing.
    """
    sizes: list[int] = []
    with repository.kept.lent(repository.git, "cat-file", "--batch-check") as git:
        for line, _ in git.answers([f"{check_commit(name)}\n".encode("ascii") for name in ids]):
            answer = line.split()
            if len(answer) != 3:
                raise GitError(f"git has no object {line.decode(errors='replace').strip()}")
            sizes.append(int(answer[2]))
    return sizes


def read_file(repository: Repository, revision: str, path: str) -> bytes | None:
    """Return the content of one regular file of a commit, `None` if there is none.

    Args:
        repository: Where to read.
        revision: Full hex commit id.
        path: Relative to the top of the repository, POSIX.
    """
    listed = repository.git.output(
        "ls-tree", "-z", "--full-tree", check_commit(revision), "--", path
    )
    for record in _records(listed):
        facts, _, found = record.partition("\t")
        mode, _, blob = facts.split(" ")
        if found == path and mode in REGULAR:
            return repository.git.output("cat-file", "blob", blob)
    return None


def changed_files(
    repository: Repository, old: str, new: str, *, prefix: str = "", but: str = ""
) -> tuple[ChangedFile, ...]:
    """Return what differs between the trees of two commits, renames as delete and add.

    The trees alone count, so a force-push, a merge and a rewind are read like any other change.

    Args:
        repository: Where to read.
        old: Full hex commit id.
        new: Full hex commit id.
        prefix: Only what is below this folder; POSIX, no slash at the end.
        but: Nothing that is below this folder of it, `""` for no such folder. A pass may write
            thousands of files there, and what is made of a line costs ten times as much as the
            line.

    Returns:
        Changes with paths relative to `prefix`, in git's order.
    """
    folder = f"{prefix}/" if prefix else ""
    return tuple(
        ChangedFile(
            path.removeprefix(folder),
            tree_entry(old_mode, old_blob),
            tree_entry(new_mode, new_blob),
        )
        for path, (old_mode, new_mode, old_blob, new_blob) in _differing(
            repository, old, new, folder, f"{folder}{but}/" if but else ""
        )
        if TREE not in (old_mode, new_mode)
    )


def added_objects(repository: Repository, old: str, new: str) -> set[str]:
    """Return the ids of all trees and blobs that one commit has and another has elsewhere, or not.

    Asked right after `changed_files` of the same two, it costs one line.
    """
    ids = {
        new_id
        for _, (_, mode, _, new_id) in _differing(repository, old, new, "")
        if mode not in (GITLINK, ABSENT)
    }
    with repository.kept.lent(repository.git, "cat-file", "--batch-check") as git:
        for line, _ in git.answers([f"{check_commit(new)}^{{tree}}\n".encode()]):
            ids.add(line.decode().split()[0])
    return ids


def find_trees(repository: Repository, revisions: Sequence[str], folder: str) -> list[str | None]:
    """Return the id of a folder's tree at each of some commits, `None` where there is no folder.

    Args:
        repository: Where the commits are.
        revisions: Full hex ids.
        folder: Path from the top.
    """
    questions = [f"{check_commit(revision)}:{folder}\n".encode() for revision in revisions]
    with repository.kept.lent(repository.git, "cat-file", "--batch-check") as git:
        answers = [line.decode(errors="replace").split() for line, _ in git.answers(questions)]
    return [
        one[0] if one[1:2] == ["tree"] and COMMIT_ID.fullmatch(one[0]) else None for one in answers
    ]


def _differing(
    repository: Repository, old: str, new: str, folder: str, but: str = ""
) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    """Yield each path that differs, folders included, with both modes and both ids."""
    listed = repository.kept.lasting(
        repository.git,
        "diff-tree", "-r", "-t", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff",
        check_commit(old), check_commit(new), "--", *((folder,) if folder else ()),
    )  # fmt: skip
    fields = iter(_records(listed))
    for facts, path in zip(fields, fields, strict=True):
        if but and path.startswith(but):
            continue
        old_mode, new_mode, old_id, new_id, _ = facts.removeprefix(":").split(" ")
        yield path, (old_mode, new_mode, old_id, new_id)


def _records(listed: bytes) -> list[str]:
    return listed.decode(errors="surrogateescape").split("\0")[:-1]


def _content(output: BinaryIO, size: int, limit: int) -> bytes | Oversized | None:
    """Return what an answer holds, `None` if git ended within it: a piece is never content."""
    if size <= limit:
        content = output.read(size)
        return content if output.read(1) else None  # the line feed after each object
    left = size + 1
    while left and (chunk := output.read(min(left, CHUNK_BYTES))):
        left -= len(chunk)
    return None if left else Oversized(size)


MOST_NAMED = 3
MISSING = "?"  # git-rev-list(1): what `--missing=print` puts before an id


def lost_objects(repository: Repository, commit: str) -> tuple[str, ...]:
    """Return the ids of what a commit needs and git has not, but for its history; sorted.

    Raises:
        GitError: Git failed.
    """
    arguments = ("rev-list", "--objects", "--missing=print", "--no-walk", check_commit(commit))
    finished = repository.git.run(*arguments)
    if finished.code != 0:
        if repository.git.run("cat-file", "-e", commit).code == 0:
            raise repository.git.error(arguments, finished)
        return (commit,)
    lines = finished.stdout.decode(errors="replace").splitlines()
    return tuple(sorted(line[1:] for line in lines if line.startswith(MISSING)))


def lost(repository: Repository, branch: str, commit: str, ids: tuple[str, ...]) -> LostObjects:
    """Return the error that tells which objects a branch needs and git has not."""
    named = enumerated([short_id(name) for name in ids], MOST_NAMED)
    return LostObjects(
        f'branch "{branch}" is at {short_id(commit)} and needs {named}, which git has no more',
        repository.common_dir,
    )
