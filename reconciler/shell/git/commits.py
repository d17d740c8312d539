"""Writes commits: no index, work tree, hook or filter takes part.

`git fast-import` gets the changed files inline and answers with the commit's id, so the cost
follows the number of changes, not the size of the repository. It takes locks on references even
where it changes none, and a killed process would leave them. So it runs in a throw-away git folder
beside the repository: the locks go with that folder, and are never in a user's repository. The
objects that it writes stay in that folder, too, until they are put into the repository
(`held_objects`).

Each commit of a pass puts one pack into the repository, and git looks for an object in every pack.
Git's own upkeep joins packs where people or pushes start it; nothing does in a repository that only
passes write to. So the packs are joined here before they grow many.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path
from typing import assert_never

from reconciler.core.changes import Change, DeleteFile, WriteFile
from reconciler.core.message import with_purpose
from reconciler.model.records import dataclass, replace
from reconciler.shell.git.command import Git, GitError, PathBlocked
from reconciler.shell.git.held_objects import KEEP, PARTS, ObjectFolder, new_folder
from reconciler.shell.git.journal import FOLDER
from reconciler.shell.git.objects import ChangedFile, added_objects, changed_files, find_trees
from reconciler.shell.git.repository import (
    EMPTY_TREES,
    CommitIdentity,
    Repository,
    check_commit,
    check_identity,
    may_configure,
)
from reconciler.shell.git.signing import CommitSigning, write_signed, write_tree
from reconciler.shell.processes.limits import sync_folder
from reconciler.shell.processes.signals import held_signals

# What a file system may take for `.git`: case, trailing dots and spaces, streams, short names.
DOT_GIT = re.compile(r"(?:\.git|git~\d+)[ .]*(?::.*)?", re.IGNORECASE)
IGNORABLE = re.compile("[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")  # HFS+ drops these
SLOWEST = 1_000_000  # bytes of content a second that git writes at least, beside other work
USUAL = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*")
NOT_PLAIN = re.compile(r"[\x00-\x1f\x7f\\]")
MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
ONE_PACK = {"fastimport.unpackLimit": "0", "pack.compression": "1"}  # ids do not compress


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTarget:
    """Where a commit is written for, what writes it, and into which folder of ours."""

    repository: Repository
    git: Git
    folder: ObjectFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierCommit:
    """A commit that did not come onto its branch, of which most is written once more.

    Attributes:
        revision: Full hex id of it; what it is made of is held still.
        parent: The commit that it was written on.
        changes: What it changed, as `write_commit` was told.
        folder: Where most of that is.
    """

    revision: str
    parent: str
    changes: Sequence[Change]
    folder: str


def write_commit(
    repository: Repository,
    changes: Sequence[Change],
    *,
    parent: str | None,
    message: str,
    at: datetime,
    author: CommitIdentity,
    signing: CommitSigning | None = None,
    earlier: EarlierCommit | None = None,
) -> str:
    """Write one commit on top of `parent`; no branch moves.

    The same arguments give the same id, on every machine; a signature makes another one of it.

    Args:
        repository: Where to write. Paths are put below its `prefix`.
        changes: At most one per path, paths relative to the root. Deleting what is absent is fine.
        parent: Full hex commit id, `None` for a commit without history.
        message: Subject, blank line, body, trailers.
        at: Aware moment of author and committer.
        author: Author and committer.
        signing: Who signs it and for what, which the message then says; `None` for nobody.
        earlier: A commit with nearly the same changes; it only saves work.

    Returns:
        Full hex id of the commit; `parent` itself if the changes leave its tree as it is.

    Raises:
        ValueError: A path, the message or the identity is not fit to be written.
        PathBlocked: A path leads through something that is no folder, or names a folder.
        GitError: Git failed.
    """
    written = [(_full_path(repository, change.path), change) for change in changes]
    _check_paths(written)
    head = _head(parent=parent, message=message, at=at, author=author)
    tree, left = _folder_of(earlier, repository, parent=parent, written=written)
    size = sum(len(change.content) for change in changes if isinstance(change, WriteFile))
    seconds = repository.git.timeout_seconds + size / SLOWEST
    roll_up(repository)
    with importing_git(repository) as (git, folder):
        patient = replace(git.having(settings=ONE_PACK), timeout_seconds=seconds)
        target = ImportTarget(repository=repository, git=patient, folder=folder)
        commit = _import_whole(
            target, [*head, *tree, *_files(left)], parent=parent, written=written
        )
        if commit is None:
            return parent or ""
        if signing is not None:
            text = with_purpose(message, signing.purpose)
            signer, key = replace(repository, git=git), signing.key
            commit = write_signed(
                signer, key, tree=commit, parent=parent, message=text, at=at, author=author
            )
            _pack(target, {commit})
        remember(repository, folder.names)
    return commit


def write_again(
    repository: Repository,
    commit: str,
    *,
    parents: Sequence[str],
    message: str,
    at: datetime,
    author: CommitIdentity,
    signing: CommitSigning | None = None,
) -> str:
    """Write a commit with exactly the files of another one, all of them; no branch moves.

    Args:
        repository: Where to write.
        commit: Full hex id of the other one.
        parents: Full hex ids of commits, none for one without history.
        message: Subject, blank line, body, trailers.
        at: Aware moment of author and committer.
        author: Author and committer.
        signing: Who signs it and for what; `None` for nobody.

    Returns:
        Full hex id of the commit.

    Raises:
        GitError: Git failed.
    """
    tree = repository.git.line("rev-parse", "--verify", f"{check_commit(commit)}^{{tree}}")
    if signing is not None:
        message = with_purpose(message, signing.purpose)
    with importing_git(repository) as (git, folder):
        target = ImportTarget(repository=repository, git=git, folder=folder)
        writer = replace(repository, git=git)
        written = write_tree(
            writer,
            None if signing is None else signing.key,
            tree=tree,
            parents=parents,
            message=message,
            at=at,
            author=author,
        )
        _pack(target, {written})
        remember(repository, folder.names)
    return written


def check_path(path: str) -> str:
    """Return `path` if it can be written on every file system and leads nowhere else.

    Raises:
        ValueError: It is absolute, has an empty, `.`, `..` or `.git` part in any spelling, a
            control character or a backslash, or is too long.
    """
    if len(path) <= MAX_NAME_BYTES and USUAL.fullmatch(path):
        return path  # most are; none of its parts begins with a dot or is long
    if NOT_PLAIN.search(path):
        raise ValueError(f"{path!r} has a control character or a backslash")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise ValueError(f"{path[:40]!r}... is longer than {MAX_PATH_BYTES} bytes")
    for part in path.split("/"):
        if part in ("", ".", ".."):
            raise ValueError(f"{path!r} must be relative and plain, without empty parts or dots")
        if DOT_GIT.fullmatch(IGNORABLE.sub("", part)):
            raise ValueError(f"{path!r} has a part that a file system may take for .git")
        if len(part.encode()) > MAX_NAME_BYTES:
            raise ValueError(f"{path!r} has a part longer than {MAX_NAME_BYTES} bytes")
    return path


def _full_path(repository: Repository, path: str) -> str:
    check_path(path)
    return f"{repository.prefix}/{path}" if repository.prefix else path


def _check_paths(written: Sequence[tuple[str, Change]]) -> None:
    if len({path for path, _ in written}) != len(written):
        raise ValueError("a path is changed twice in one commit")
    paths = {path for path, change in written if isinstance(change, WriteFile)}
    folders = {path[:i] for path in paths for i, char in enumerate(path) if char == "/"}
    if both := folders & paths:
        raise ValueError(f"{min(both)!r} cannot be a file and a folder")


def _folder_of(
    earlier: EarlierCommit | None,
    repository: Repository,
    *,
    parent: str | None,
    written: Sequence[tuple[str, Change]],
) -> tuple[Sequence[bytes], Sequence[tuple[str, Change]]]:
    """Return what takes a folder over from an earlier commit, and the changes that are left.

    It is taken if that commit changed the same files, and its folder was the same before.
    """
    if earlier is None or parent is None:
        return (), written
    before = {change.path: change for change in earlier.changes}
    if before.keys() != {change.path for _, change in written}:
        return (), written
    folder = _full_path(repository, earlier.folder)
    was, has, gets = find_trees(repository, [earlier.parent, parent, earlier.revision], folder)
    if was != has or gets is None:
        return (), written
    left = [
        (path, change)
        for path, change in written
        if not path.startswith(f"{folder}/") or before[change.path] != change
    ]
    return [b"M 040000 %s %s\n" % (gets.encode(), _quoted(folder))], left


def _import_whole(
    target: ImportTarget,
    parts: Sequence[bytes],
    *,
    parent: str | None,
    written: Sequence[tuple[str, Change]],
) -> str | None:
    """Return the id of a commit whose objects are all held; `None` if it changes nothing.

    fast-import leaves out what any pack of the repository has, also one that no reference reaches.
    A collector may take it at once; then it is gone, and fast-import writes it.
    """
    for last in (False, True):
        try:
            commit = _import(target, parts)
            target.folder.put()
            differing = () if parent is None else changed_files(target.repository, parent, commit)
            _check_places(written, differing)
            if parent is not None and not differing:
                return None
            base = parent or EMPTY_TREES[target.repository.object_format]
            _pack(target, {commit, *added_objects(target.repository, base, commit)})
        except PathBlocked:
            raise
        except GitError:
            if last:
                raise
        else:
            return commit
    raise AssertionError("the last time raises")


def _check_places(written: Sequence[tuple[str, Change]], differing: Iterable[ChangedFile]) -> None:
    """Refuse to replace a folder by a file, or a file, symlink or submodule by a folder.

    fast-import does so without a word, and everything below is gone. So what differs is looked at,
    which costs the same however large the folders are; nothing names the commit yet.
    """
    changes = dict(written)
    for change in differing:
        if change.path in changes:
            if change.before is not None and change.after is not None and change.before.is_gitlink:
                raise _blocked(change.path, "a file")
            continue
        above = [change.path[:i] for i, char in enumerate(change.path) if char == "/"]
        replaced = next((path for path in above if path in changes), None)
        if replaced is None:
            raise _blocked(change.path, "a folder")
        if isinstance(changes[replaced], WriteFile):
            raise _blocked(replaced, "a file")


def _blocked(path: str, wanted: str) -> PathBlocked:
    return PathBlocked(f'"{path}" must be {wanted}, but is something else; move it away')


def _pack(target: ImportTarget, needed: AbstractSet[str]) -> None:
    """Let the packs of a folder have these objects, too, and put them into the repository.

    Those that are held since an earlier commit are safe where they are.
    """
    missing = needed - target.folder.ids() - target.repository.held.ids()
    if missing:
        stdin = "".join(f"{name}\n" for name in sorted(missing)).encode()
        base = target.folder.objects / "pack/pack"
        target.git.output("pack-objects", "--quiet", str(base), stdin=stdin)
        target.folder.put()


def _head(
    *, parent: str | None, message: str, at: datetime, author: CommitIdentity
) -> Iterator[bytes]:
    if at.tzinfo is None:
        raise ValueError("the moment of a commit must be aware of its time zone")
    if "\0" in message or not message.strip():
        raise ValueError("a commit message must have text, and no NUL")
    signature = f"{check_identity(author)} {int(at.timestamp())} +0000"
    text = (message.rstrip("\n") + "\n").encode()
    yield f"mark :1\nauthor {signature}\ncommitter {signature}\n".encode()
    yield b"data %d\n%s\n" % (len(text), text)
    if parent is not None:
        yield f"from {check_commit(parent)}\n".encode()


def _files(written: Sequence[tuple[str, Change]]) -> Iterator[bytes]:
    for path, change in written:
        match change:
            case WriteFile(content=content):
                data = content.encode()
                yield b"M 100644 inline %s\ndata %d\n%s\n" % (_quoted(path), len(data), data)
            case DeleteFile():
                yield b"D %s\n" % _quoted(path)
            case _:
                assert_never(change)


def _quoted(path: str) -> bytes:
    # Control characters and backslashes were refused, so the quote is all that needs an escape.
    escaped = path.replace('"', '\\"') if path.startswith('"') else path
    return (escaped if escaped == path else f'"{escaped}"').encode()


def _import(target: ImportTarget, parts: Sequence[bytes]) -> str:
    """Feed fast-import; return the commit's id."""
    reference = "refs/heads/new"  # set back to nothing in the same stream: it is never written
    nothing = "0" * (64 if target.repository.object_format == "sha256" else 40)
    stdin = (
        f"feature done\ncommit {reference}\n".encode(),
        *parts,
        f"\nget-mark :1\nreset {reference}\nfrom {nothing}\n\ndone\n".encode(),
    )
    options = ("--quiet", "--force", "--date-format=raw", "--cat-blob-fd=1")
    with target.git.stream("fast-import", *options, stdin=stdin) as output:
        reply = output.read().decode().splitlines()
    if len(reply) != 1:
        raise GitError("git fast-import did not answer with a commit")
    return reply[0]


SUFFIX = ".import"
CONFIGURATION = """\
[core]
\trepositoryformatversion = 1
\tbare = true
{shared}[extensions]
\tobjectFormat = {object_format}
"""


@contextlib.contextmanager
def importing_git(repository: Repository) -> Iterator[tuple[Git, ObjectFolder]]:
    """Yield git that reads the objects of a repository and writes others, and where it does.

    What was put into the repository is held as long as the repository says.
    """
    held: ObjectFolder | None = None
    store = repository.common_dir / "objects"
    try:
        with held_signals():
            folder, descriptor = _locked_folder(repository)
            held = ObjectFolder(folder=folder, descriptor=descriptor, store=store)
        for name in ("objects/info", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        (folder / "config").write_text(
            CONFIGURATION.format(shared=_shared(repository), object_format=repository.object_format)
        )
        (held.objects / "info/alternates").write_bytes(_alternates(store))
        git = replace(
            repository.git, folder=folder, options=(f"--git-dir={folder}",), inherited=(descriptor,)
        )
        yield git, held
    finally:
        if held is not None:
            repository.held.add(held)


def remove_dead_imports(repository: Repository) -> None:
    """Remove the folders of processes that are gone, with their git commands.

    Each is locked while it goes: a folder that is being made looks as if its process were gone.
    """
    for folder in (repository.common_dir / FOLDER).glob(f"*{SUFFIX}"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            store = repository.common_dir / "objects"
            ObjectFolder(folder=folder, descriptor=descriptor, store=store).let_go()


def _locked_folder(repository: Repository) -> tuple[Path, int]:
    """Make a folder, and return it with the descriptor that locks it.

    Whoever removes dead ones may take it before it is locked; then it is made again.
    """
    while True:
        with contextlib.suppress(FileNotFoundError):
            folder = new_folder(repository.common_dir / FOLDER)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if (folder / KEEP).exists():
                return folder, descriptor
            os.close(descriptor)


def _alternates(store: Path) -> bytes:
    """Return where git finds the objects of a repository, a line each.

    Git follows relative ones of its own only, so those of the repository are written out.
    """
    places = [bytes(store)]
    with contextlib.suppress(FileNotFoundError):
        lines = (store / "info/alternates").read_bytes().splitlines()
        relative = (line for line in lines if line and line[:1] not in b'#/"')
        places += (os.path.join(bytes(store), line) for line in relative)  # noqa: PTH118  # bytes
    return b"".join(place + b"\n" for place in places)


def _shared(repository: Repository) -> str:
    """Return the setting by which several users write objects of one repository."""
    if not may_configure(repository, "sharedrepository"):
        return ""
    finished = repository.git.run("config", "--get", "core.sharedRepository")
    value = finished.stdout.decode(errors="replace").strip()
    return f"\tsharedRepository = {value}\n" if finished.code == 0 and value.isalnum() else ""


LIST = "packs"
MANY = 32  # ours: of one size; a process of git for so many commits
COLLECTING = "gc.pid"  # git gc holds it


def remember(repository: Repository, names: Sequence[str]) -> None:
    """Write down the names of packs that a commit was put into."""
    with _locked(repository.common_dir / FOLDER / LIST) as file:
        os.lseek(file, 0, os.SEEK_END)
        os.write(file, "".join(f"0 {name}\n" for name in names).encode())


def roll_up(repository: Repository) -> None:
    """Join packs of ours if there are many of about one size, and nobody collects just now.

    If git cannot, for a collector removes what is being written, they are joined another time.
    """
    place = repository.common_dir / FOLDER / LIST
    if not place.exists() or (repository.common_dir / COLLECTING).exists():
        return
    with _locked(place) as file, contextlib.suppress(GitError):
        listed = _listed(file)
        if max(map(len, listed.values()), default=0) < MANY:
            return
        packs = repository.common_dir / "objects/pack"
        sizes = sorted(listed)
        for size in sizes:
            names = [name for name in listed[size] if _is_ours(packs, name)]
            listed[size] = names
            if len(names) >= MANY:
                listed.setdefault(size + 1, []).append(_join(repository, packs, names))
                listed[size] = []
        content = "".join(f"{size} {name}\n" for size, names in listed.items() for name in names)
        os.ftruncate(file, 0)
        os.pwrite(file, content.encode(), 0)


def _join(repository: Repository, packs: Path, names: Sequence[str]) -> str:
    """Write one pack in the place of several, and return its name."""
    stdin = "".join(f"{name}.pack\n" for name in names).encode()
    arguments = ("pack-objects", "--quiet", "--stdin-packs", str(packs / "pack"))
    joined = f"pack-{repository.git.output(*arguments, stdin=stdin).decode().strip()}"
    sync_folder(packs)
    for name in names:
        if name != joined:
            for part in reversed(PARTS):
                (packs / f"{name}{part}").unlink(missing_ok=True)
    return joined


def _is_ours(packs: Path, name: str) -> bool:
    """Return whether a pack is still there, and kept by nobody."""
    whole = all((packs / f"{name}{part}").exists() for part in PARTS)
    return whole and not (packs / f"{name}.keep").exists()


def _listed(file: int) -> dict[int, list[str]]:
    """Return the names of packs by how often they were joined."""
    names: dict[int, list[str]] = {}
    for line in os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace").splitlines():
        size, _, name = line.partition(" ")
        if size.isdecimal() and name.startswith("pack-") and "/" not in name:
            names.setdefault(int(size), []).append(name)
    return names


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[int]:
    """Open the list while no other process changes it."""
    descriptor = os.open(place, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
