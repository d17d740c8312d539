"""Writes commits: no index, work tree, hook or filter takes part.

`git fast-import` gets the changed files inline and answers with the commit's id, so the cost
follows the number of changes, not the size of the repository.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import assert_never

from reconciler.core.changes import Change, DeleteFile, WriteFile
from reconciler.shell.git.errors import GitError, PathBlocked
from reconciler.shell.git.identity import CommitIdentity, check_identity
from reconciler.shell.git.import_folder import importing_git
from reconciler.shell.git.repository import Repository, check_commit

# What a file system may take for `.git`: case, trailing dots and spaces, streams, short names.
DOT_GIT = re.compile(r"(?:\.git|git~\d+)[ .]*(?::.*)?", re.IGNORECASE)
IGNORABLE = re.compile("[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")  # HFS+ drops these
MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
FEW_PATHS = 200  # ours: from there on one listing of a large commit is the cheaper answer


def write_commit(
    repository: Repository,
    changes: Sequence[Change],
    *,
    parent: str | None,
    message: str,
    at: datetime,
    author: CommitIdentity,
) -> str:
    """Write one commit on top of `parent`; no branch moves.

    The same arguments give the same id, on every machine.

    Args:
        repository: Where to write. Paths are put below its `prefix`.
        changes: At most one per path, paths relative to the root. Deleting what is absent is fine.
        parent: Full hex commit id, `None` for a commit without history.
        message: Subject, blank line, body, trailers.
        at: Aware moment of author and committer.
        author: Author and committer.

    Returns:
        Full hex id of the commit; `parent` itself if the changes leave its tree as it is.

    Raises:
        ValueError: A path, the message or the identity is not fit to be written.
        PathBlocked: A path leads through something that is no folder, or names a folder.
        GitError: Git failed.
    """
    written = [(_full_path(repository, change.path), change) for change in changes]
    if len({path for path, _ in written}) != len(written):
        raise ValueError("a path is changed twice in one commit")
    if parent is not None:
        _check_places(repository, parent, [p for p, c in written if isinstance(c, WriteFile)])
    head = _head(parent=parent, message=message, at=at, author=author)
    reply = _import(repository, [*head, *_files(written)], parent)
    commit, trees = reply[0], [line.split()[-1] for line in reply[1:]]  # "missing" if empty
    if parent is not None and trees[0] == trees[1]:
        return parent
    return commit


def check_path(path: str) -> str:
    """Return `path` if it can be written on every file system and leads nowhere else.

    Raises:
        ValueError: It is absolute, has an empty, `.`, `..` or `.git` part in any spelling, a
            control character or a backslash, or is too long.
    """
    if any(ord(char) < 32 or ord(char) == 127 or char == "\\" for char in path):
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


def _check_places(repository: Repository, parent: str, paths: Sequence[str]) -> None:
    """Refuse to replace a folder by a file, or a file, symlink or submodule by a folder.

    fast-import would do so without a word, and everything below would be gone.
    """
    folders = {path[:i] for path in paths for i, char in enumerate(path) if char == "/"}
    if both := folders & set(paths):
        raise ValueError(f"{min(both)!r} cannot be a file and a folder")
    asked = [*((folder, "tree") for folder in sorted(folders)), *((p, "blob") for p in paths)]
    ask = _types_one_by_one if len(asked) <= FEW_PATHS else _types_of_all
    types = ask(repository, check_commit(parent), [path for path, _ in asked])
    for path, wanted in asked:
        if types.get(path, wanted) != wanted:
            article = "a folder" if wanted == "tree" else "a file"
            raise PathBlocked(f'"{path}" must be {article}, but is something else; move it away')


def _types_one_by_one(
    repository: Repository, commit: str, paths: Sequence[str]
) -> Mapping[str, str]:
    """Return what stands at each path; git looks through its whole folder for every one."""
    stdin = "".join(f"{commit}:{path}\n" for path in paths).encode()
    answers = repository.git.output("cat-file", "--batch-check=%(objecttype)", stdin=stdin)
    types = zip(paths, answers.decode(errors="surrogateescape").split("\n"), strict=False)
    return {path: answer for path, answer in types if not answer.endswith(" missing")}


def _types_of_all(repository: Repository, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return what stands at each path, from one listing of the whole commit."""
    wanted = set(paths)
    listed = repository.git.output("ls-tree", "-r", "-t", "-z", "--full-tree", commit)
    types = {}
    for record in listed.decode(errors="surrogateescape").split("\0")[:-1]:
        facts, _, path = record.partition("\t")
        if path in wanted:
            types[path] = facts.split(" ")[1]
    return types


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


def _import(repository: Repository, parts: Sequence[bytes], parent: str | None) -> list[str]:
    """Feed fast-import; return the commit's id and the trees of the commit and its parent."""
    reference = "refs/heads/new"  # set back to nothing in the same stream: it is never written
    questions = 'get-mark :1\nls :1 ""\n' + (f'ls {parent} ""\n' if parent else "")
    nothing = "0" * (64 if repository.object_format == "sha256" else 40)
    stdin = (
        f"feature done\ncommit {reference}\n".encode(),
        *parts,
        f"\n{questions}reset {reference}\nfrom {nothing}\n\ndone\n".encode(),
    )
    options = ("--quiet", "--force", "--date-format=raw", "--cat-blob-fd=1")
    with (
        importing_git(repository) as git,
        git.stream("fast-import", *options, stdin=stdin) as output,
    ):
        reply = output.read().decode().splitlines()
    if len(reply) != (3 if parent else 2):
        raise GitError("git fast-import did not answer with a commit")
    return reply
