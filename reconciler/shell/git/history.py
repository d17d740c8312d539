"""Reads commits: who, when, why, and what machines wrote into the trailers."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from reconciler.manifests.text.limits import Oversized
from reconciler.shell.git.identity import CommitIdentity
from reconciler.shell.git.objects import read_objects
from reconciler.shell.git.repository import Repository, check_commit

HEAD_FORMAT = "%an%x00%ae%x00%at%x00%ct%x00%P"
EPOCH = datetime.fromtimestamp(0, UTC)

# Those of people; others of Python's are slow (punycode), or no characters at all.
ENCODING = re.compile(
    r"(?:us-?)?ascii|(?:utf|iso|latin|cp|windows|koi8|euc|shift|gb|big5)[-\w]*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """One commit as git stores it.

    `authored_at` and `committed_at` are aware UTC. `body` has no trailers; `trailers` are the lines
    of a last paragraph of nothing but `Key: value`, in order. `parents` are full hex ids, in order.
    Of one that is `unread`, whose message is too long, nothing but its subject says so.
    """

    revision: str
    author: CommitIdentity
    authored_at: datetime
    committed_at: datetime
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]
    parents: tuple[str, ...]
    unread: bool = False


def read_commit(repository: Repository, revision: str) -> CommitRecord:
    """Read one commit.

    Args:
        repository: Where to read.
        revision: Full hex commit id.
    """
    [found] = read_commits(repository, [check_commit(revision)])
    return found


def read_history(
    repository: Repository, head: str, *, limit: int | None = None, path: str = ""
) -> Iterator[CommitRecord]:
    """Read the commits that lead to `head`, newest first, along first parents.

    Args:
        repository: Where to read.
        head: Full hex commit id.
        limit: How many at most; `None` reads all.
        path: Only commits that changed this file or something below this folder, from the folder
            that was opened; `""` for all.
    """
    counted = () if limit is None else (f"--max-count={limit}",)
    below = (repository.from_top(path),) if path else ()
    listed = repository.git.line(
        "rev-list", "--first-parent", *counted, check_commit(head), "--", *below
    )
    yield from read_commits(repository, listed.split())


def read_commits(repository: Repository, revisions: Iterable[str]) -> Iterator[CommitRecord]:
    """Read commits by their full hex ids, in the order given: one answer for each."""
    for revision, raw in read_objects(repository, revisions, kind="commit"):
        if isinstance(raw, bytes):
            yield _record(revision, raw)
        else:
            yield _without_message(repository, revision, raw)


def _without_message(repository: Repository, revision: str, found: Oversized) -> CommitRecord:
    """Return a commit whose message is above the limit of a file, by what stands before it."""
    said = repository.git.output(
        "log", "--no-walk", "--no-color", f"--format=tformat:{HEAD_FORMAT}", revision
    )
    name, email, authored, committed, parents = said.decode(errors="replace").split("\0")
    return CommitRecord(
        revision=revision,
        author=CommitIdentity(name, email),
        authored_at=_moment(authored.encode()),
        committed_at=_moment(committed.encode()),
        subject=f"(a message of {found.size_bytes >> 20} MB, which is not read)",
        body="",
        trailers=(),
        parents=tuple(parents.split()),
        unread=True,
    )


def read_removal(repository: Repository, head: str, path: str) -> CommitRecord | None:
    """Read the commit that last removed a file, `None` if none did.

    Args:
        repository: Where to read.
        head: Full hex commit id.
        path: Of the file, from the root of what is served.
    """
    found = repository.git.line(
        "log",
        "--first-parent",
        "--diff-filter=D",
        "--no-renames",
        "--max-count=1",
        "--format=%H",
        check_commit(head),
        "--",
        repository.from_top(path),
    )
    return read_commit(repository, found) if found else None


def _record(revision: str, raw: bytes) -> CommitRecord:
    head, _, message = raw.partition(b"\n\n")
    headers = [
        line.partition(b" ") for line in head.split(b"\n") if not line.startswith(b" ")
    ]  # lines that begin with a space continue a signature
    values = {key: value for key, _, value in reversed(headers)}
    text = _decoded(message, values.get(b"encoding", b"utf-8"))
    subject, body, trailers = _parts(text)
    author, authored_at = _signed(values.get(b"author", b""))
    _, committed_at = _signed(values.get(b"committer", b""))
    return CommitRecord(
        revision=revision,
        author=author,
        authored_at=authored_at,
        committed_at=committed_at,
        subject=subject,
        body=body,
        trailers=trailers,
        parents=tuple(value.decode() for key, _, value in headers if key == b"parent"),
    )


def _decoded(message: bytes, encoding: bytes) -> str:
    """Return a message as text; one of a strange encoding is read as UTF-8, as far as it goes."""
    name = encoding.decode(errors="replace")
    if ENCODING.fullmatch(name):
        with contextlib.suppress(LookupError, UnicodeError):
            return message.decode(name, errors="replace")
    return message.decode(errors="replace")


def _signed(line: bytes) -> tuple[CommitIdentity, datetime]:
    """Split `Name <email> seconds zone`; whoever wrote the commit may have left out any of it."""
    who, _, when = line.rpartition(b">")
    name, _, email = who.partition(b"<")
    identity = CommitIdentity(
        name.decode(errors="replace").rstrip(" "), email.decode(errors="replace")
    )
    return identity, _moment(when)


def _moment(when: bytes) -> datetime:
    """Read `seconds zone`; what is no moment is the first one, as `git log` has it."""
    try:
        return datetime.fromtimestamp(int(when.split()[0]), UTC)
    except (IndexError, ValueError, OverflowError, OSError):
        return EPOCH


def _parts(text: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Split a message into subject, body without trailers, and trailers."""
    subject, _, rest = text.strip("\n").partition("\n\n")
    paragraphs = rest.strip("\n").split("\n\n")
    trailers = _trailers(paragraphs[-1])
    body = "\n\n".join(paragraphs[:-1] if trailers else paragraphs)
    return " ".join(subject.split("\n")), body, trailers


def _trailers(paragraph: str) -> tuple[tuple[str, str], ...]:
    found = []
    for line in paragraph.split("\n"):
        key, colon, value = line.partition(": ")
        if not colon or not key.replace("-", "").isalnum():
            return ()
        found.append((key, value.strip()))
    return tuple(found)
