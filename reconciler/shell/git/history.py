"""Reads commits: who, when, why, and what machines wrote into the trailers.

Users name revisions and ranges; here they become commits, and what lies between them. The folders
of a commit that are roots are those of a pattern that contain a configuration.

Git's own commit-graph has which paths each commit changed. Without it git looks into the folders of
each commit to find those that changed one file. A user's repository is left to git, so the graph
stands in a folder of ours: an object database that has nothing else, and that of the repository
as its alternate. Whatever is wrong with it costs time, never an answer.
"""

import contextlib
import hashlib
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from reconciler.errors import UsageError
from reconciler.manifests.text.raw import Oversized
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.text import short_id, shown
from reconciler.shell.git.command import GitError, HistoryMissing
from reconciler.shell.git.commits import check_path
from reconciler.shell.git.objects import ChangedFile, list_files, read_objects, tree_entry
from reconciler.shell.git.repository import COMMIT_ID, CommitIdentity, Repository, check_commit
from reconciler.shell.processes.limits import check_ours_alone

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
    [record] = read_commits(repository, [check_commit(revision)])
    return record


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
    revision = repository.git.line(
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
    return read_commit(repository, revision) if revision else None


def _record(revision: str, raw: bytes) -> CommitRecord:
    head, _, message = raw.partition(b"\n\n")
    headers = [
        line.partition(b" ") for line in head.split(b"\n") if not line.startswith(b" ")
    ]  # lines that begin with a space continue a signature
    values = {key: value for key, _, value in reversed(headers)}
    text = _decoded(message, values.get(b"encoding", b"utf-8"))
    subject, body, trailers = _message_parts(text)
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


def _message_parts(text: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Split a message into subject, body without trailers, and trailers."""
    subject, _, rest = text.strip("\n").partition("\n\n")
    paragraphs = rest.strip("\n").split("\n\n")
    trailers = _trailers(paragraphs[-1])
    body = "\n\n".join(paragraphs[:-1] if trailers else paragraphs)
    return " ".join(subject.split("\n")), body, trailers


def _trailers(paragraph: str) -> tuple[tuple[str, str], ...]:
    trailers = []
    for line in paragraph.split("\n"):
        key, colon, value = line.partition(": ")
        if not colon or not key.replace("-", "").isalnum():
            return ()
        trailers.append((key, value.strip()))
    return tuple(trailers)


COMMITS_AT_ONCE = 1000


def resolve_revision(repository: Repository, text: str) -> str:
    """Return the full hex id of the commit that a person names: a branch, a tag, HEAD~2, an id.

    Raises:
        UsageError: There is no such commit.
    """
    if text.isprintable() and text.strip():
        finished = repository.git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}"
        )
        revision = finished.stdout.decode(errors="replace").strip()
        if finished.code == 0 and COMMIT_ID.fullmatch(revision):
            return revision
    near = repository.branches()[:5]
    hint = f"; its branches are {', '.join(near)}" if near else ", it has no commit yet"
    raise UsageError(f"there is no revision {shown(text)} in this repository{hint}")


def list_range(
    repository: Repository,
    head: str,
    *,
    but: Sequence[str] = (),
    paths: Sequence[str] = (),
    most: int | None = None,
) -> list[str]:
    """Return the commits that lead to `head` along first parents, the newest first.

    Args:
        repository: Where to read.
        head: Full hex commit id.
        but: Commits that they must not be, nor ancestors of.
        paths: Only commits that changed something there, relative to the top; none for all.
        most: How many at most, the newest; `None` for all.
    """
    counted = () if most is None else (f"--max-count={most}",)
    excluded = [f"^{check_commit(revision)}" for revision in but]
    listed = repository.git.line(
        "rev-list", "--first-parent", *counted, check_commit(head), *excluded, "--", *paths
    )
    return listed.split()


@dataclass(slots=True, eq=False)
class FolderLine:
    """The history of a folder: along first parents, but where a merge has it from another parent.

    Who runs `git pull` without a rebase makes such a merge: what others have pushed meanwhile is on
    the side of its second parent. The line turns there if the merge has the folder whole as that
    parent has it, if on the side of the first parent nobody has changed it since both parted, and
    if any commit of the other side is one of those to follow: what people bring is theirs.

    Attributes:
        repository: Where to read.
        folder: Relative to the top.
        trailer: Name of one that the commits to follow have.
    """

    repository: Repository
    folder: str
    trailer: str
    _turns: dict[str, str | None] = field(default_factory=dict)
    _straight: set[tuple[str, ...]] = field(default_factory=set)

    def read(self, revisions: Iterable[str]) -> Iterator[CommitRecord]:
        """Read commits in the order given; the parent to which the line goes on comes first."""
        for record in read_commits(self.repository, revisions):
            yield replace(record, parents=self.parents_of(record))

    def parents_of(self, record: CommitRecord) -> tuple[str, ...]:
        """Return the parents of a commit, first the one to which the line goes on."""
        if len(record.parents) < 2:  # no merge
            return record.parents
        self._look({record.revision: record.parents})
        turn = self._turns[record.revision]
        if turn is None:
            return record.parents
        return (turn, *(one for one in record.parents if one != turn))

    def commits(
        self, head: str, *, but: Sequence[str] = (), paths: Sequence[str] = (), index: Repository
    ) -> list[str]:
        """Return the commits of the line, the newest first; as `list_range` has them.

        Args:
            head: Full hex id of the newest.
            but: Commits that they must not be, nor ancestors of.
            paths: Only commits that changed something there, relative to the top; none for all.
            index: The same repository, with what tells which commits changed a file.
        """
        asked = (head, *but)
        if asked in self._straight:
            return list_range(index, head, but=but, paths=paths)
        near = self._walk(head, but, "--first-parent", *(("--merges",) if paths else ()))
        if not any(self._turns.get(revision) for revision in near):
            self._straight.add(asked)
            return list_range(index, head, but=but, paths=paths) if paths else [*near]
        parents, line = self._walk(head, but), dict[str, str]()
        revision = head
        while revision in parents:
            turn = self._turns.get(revision)
            first = next(iter(parents[revision]), "")
            line[revision] = first if turn is None else turn
            revision = line[revision]
        return [*line] if not paths else self._that_changed(line, paths)

    def _walk(self, head: str, but: Sequence[str], *how: str) -> dict[str, list[str]]:
        """Return commits with their parents, the newest first; of all merges the turn is known."""
        excluded = [f"^{check_commit(one)}" for one in but]
        arguments = ("rev-list", "--parents", *how, check_commit(head), *excluded, "--")
        lines = (line.split(" ") for line in self.repository.git.line(*arguments).splitlines())
        parents_of = {revision: parents for revision, *parents in lines}
        self._look({one: parents for one, parents in parents_of.items() if len(parents) > 1})
        return parents_of

    def _that_changed(self, line: Mapping[str, str], paths: Sequence[str]) -> list[str]:
        """Return the commits that changed some paths against the ones before them."""
        pairs = [(before, one) for one, before in line.items() if before]
        changed = {*changes_between(self.repository, pairs, paths=paths)}
        for root in (one for one, before in line.items() if not before):
            changed.update(list_range(self.repository, root, paths=paths))
        return [one for one in line if one in changed]

    def _look(self, merges: Mapping[str, Sequence[str]]) -> None:
        """Find out of merges, each with its parents, where the line goes on."""
        asked = {one: parents for one, parents in merges.items() if one not in self._turns}
        trees = self._trees({commit for one in asked.items() for commit in (one[0], *one[1])})
        for merge, (first, *others) in asked.items():
            came = trees[merge] != trees[first]
            self._turns[merge] = next(
                (
                    other
                    for other in (others if came else ())
                    if trees[other] == trees[merge]
                    and not self._changed(first, other)
                    and self._is_followed(other, first)
                ),
                None,
            )

    def _trees(self, commits: Collection[str]) -> dict[str, str]:
        """Return what the folder is in some commits, by one command for all of them."""
        if not commits:
            return {}
        stdin = "".join(f"{check_commit(one)}:{self.folder}\n" for one in commits)
        output = self.repository.git.output(
            "cat-file", "--batch-check=%(objectname)", stdin=stdin.encode(errors="surrogateescape")
        ).splitlines()
        trees = ("" if line.endswith(b" missing") else line.decode("ascii") for line in output)
        return dict(zip(commits, trees, strict=True))

    def _changed(self, one: str, other: str) -> bool:
        """Return whether the folder was changed on the side of a commit since it left the other."""
        parted = self.repository.git.run("merge-base", one, other).stdout.decode("ascii").split()
        trees = self._trees({one, *parted[:1]})
        return not parted or trees[parted[0]] != trees[one]

    def _is_followed(self, other: str, first: str) -> bool:
        """Return whether a side has any commit that is to be followed."""
        asked = ("log", "-1", "--first-parent", "--format=%H", f"--grep=^{self.trailer}: ")
        return bool(self.repository.git.line(*asked, other, f"^{first}"))


def list_brought(
    repository: Repository, merge: str, parent: str, *, paths: Sequence[str], most: int
) -> list[str]:
    """Return the commits that a merge brought and that changed some files, the oldest first.

    Args:
        repository: Where to read.
        merge: Full hex id of the merge.
        parent: Full hex id of its first parent.
        paths: Relative to the top.
        most: How many at most, the newest.
    """
    listed = repository.git.line(
        "rev-list", "--no-merges", "--reverse", f"--max-count={most}", check_commit(merge),
        f"^{check_commit(parent)}", "--", *paths,
    )  # fmt: skip
    return listed.split()


def check_whole(repository: Repository, revisions: Iterable[str]) -> None:
    """Refuse a range that the end of a shallow clone cuts off, or that a partial one lacks.

    Raises:
        HistoryMissing: One of the commits has parents, or files, that were not fetched.
    """
    revisions = list(revisions)
    _check_files(repository, revisions)
    ends = cut_off(repository)
    near = [revision for revision in revisions if revision in ends] if ends else []
    cut = next((c.revision for c in read_commits(repository, near) if c.parents), None)
    if cut is not None:
        raise HistoryMissing(
            f"this clone is shallow, its history ends at {short_id(cut)}; fetch the rest with "
            "git fetch --unshallow, or ask about later commits only"
        )


def _check_files(repository: Repository, revisions: Sequence[str]) -> None:
    """Refuse commits of a partial clone of which something was left out."""
    config = repository.common_dir / "config"
    said = config.read_text("utf-8", "replace") if config.is_file() else ""
    if "partialclonefilter" not in said.lower():  # or else git is asked for nothing
        return
    arguments = ("rev-list", "--objects", "--missing=print", "--no-walk=unsorted", "--stdin")
    for start in range(0, len(revisions), COMMITS_AT_ONCE):
        some = revisions[start : start + COMMITS_AT_ONCE]
        asked = "".join(f"{one}\n" for one in some).encode()
        listed = repository.git.run(*arguments, stdin=asked)
        lacks = listed.code != 0 or listed.stdout.startswith(b"?") or b"\n?" in listed.stdout
        if lacks and (partial := repository.git.partial("missing")):
            raise partial


def cut_off(repository: Repository) -> frozenset[str]:
    """Return the commits at which a shallow clone ends: what came before was not fetched."""
    marks = repository.common_dir / "shallow"
    return frozenset(marks.read_text(encoding="ascii").split() if marks.is_file() else ())


def has_remotes(repository: Repository) -> bool:
    """Return whether a clone knows any repository to fetch from."""
    return repository.git.run("config", "--get-regexp", r"^remote\..*\.url$").code == 0


def is_ancestor(repository: Repository, ancestor: str, revision: str) -> bool:
    """Return whether a commit exists and is the other one or one of its ancestors."""
    arguments = ("--is-ancestor", check_commit(ancestor), check_commit(revision))
    return repository.git.run("merge-base", *arguments).code == 0


def check_forward(repository: Repository, old: str | None, new: str) -> None:
    """Check that moving a branch removes nothing: the old commit comes before the new one.

    Raises:
        ValueError: It does not.
    """
    if old is None:
        return
    parents = [commit.parents for commit in read_commits(repository, [check_commit(new)])]
    if any(check_commit(old) in of_one for of_one in parents):
        return
    if not is_ancestor(repository, old, new):
        raise ValueError(f"{new} does not come after {old}")


def changes_of(
    repository: Repository, commits: Mapping[str, str | None]
) -> dict[str, list[ChangedFile]]:
    """Return what each commit changed against the one before it, by one command for all of them.

    Args:
        repository: Where to read.
        commits: Commit to the one that it is held against, `None` of a root commit.

    Returns:
        Commit to its changes, with paths relative to the top of the repository; everything is new
        in a root commit, and a commit that changed nothing may be absent.
    """
    pairs = [(before, commit) for commit, before in commits.items() if before is not None]
    changes = changes_between(repository, pairs)
    for commit, before in commits.items():
        if before is None:
            files = list_files(repository, commit)
            changes[commit] = [ChangedFile(path, None, one) for path, one in files.items()]
    return changes


def changes_between(
    repository: Repository, pairs: Iterable[tuple[str, str]], *, paths: Sequence[str] = ()
) -> dict[str, list[ChangedFile]]:
    """Return what each second commit has that the first has not, by one command for all of them.

    Args:
        repository: Where to read.
        pairs: Full hex ids.
        paths: Only what changed there, relative to the top; none for all.

    Returns:
        Second commit to changes, with paths relative to the top of the repository; one without
        changes may be absent.
    """
    asked = "".join(f"{new} {old}\n" for old, new in pairs)
    listed = repository.git.output(
        "diff-tree", "--stdin", "-r", "--raw", "-z", "--no-renames", "--no-abbrev",
        "--no-ext-diff", "--", *paths, stdin=asked.encode(),
    )  # fmt: skip
    by_commit: dict[str, list[ChangedFile]] = {}
    fields = iter(listed.decode(errors="surrogateescape").split("\0")[:-1])
    changes: list[ChangedFile] = []
    for entry in fields:
        if not entry.startswith(":"):
            changes = by_commit.setdefault(entry.strip(), [])
            continue
        modes = entry.removeprefix(":").split(" ")
        before, after = tree_entry(modes[0], modes[2]), tree_entry(modes[1], modes[3])
        changes.append(ChangedFile(next(fields), before, after))
    return by_commit


FEW = 200  # ours: fewer commits are looked at as soon
MOST_NEW = 1000  # ours: commits that are looked at for the graph after one question
MOST_KEPT = 32  # ours: repositories; 10,000 commits take some 800 kB
GRAPH, ALTERNATES, WRITTEN_AT = "commit-graph", "alternates", "written-at"


class ChangedPaths:
    """The graphs of the repositories that were asked about."""

    def __init__(self, folder: Path) -> None:
        """Remember where they are: a folder of ours alone, made if absent."""
        self._folder = folder
        self._asked: tuple[Repository, str] | None = None

    def of(self, repository: Repository, head: str, *, commits: int) -> Repository:
        """Return a repository as it is to be asked which commits changed a path.

        It is noted what was asked about, for `save`.

        Args:
            repository: Where the commits are.
            head: Full hex id of the last of them.
            commits: How many there are.
        """
        if commits < FEW:
            return repository
        self._asked = repository, head
        place = self._place(repository)
        try:
            check_ours_alone(self._folder, place, place / "info", place / "info" / GRAPH)
            graph = (place / "info" / GRAPH).read_bytes()
        except OSError:
            return repository
        if not _is_whole(graph, repository):
            shutil.rmtree(place, ignore_errors=True)
            return repository
        return _with_graph(repository, place)

    def save(self) -> None:
        """Write the graph up to the commit that was asked about last, unless it is there."""
        if self._asked is None:
            return
        (repository, head), self._asked = self._asked, None
        place = self._place(repository)
        try:
            _write(repository, head, self._folder, place)
            _forget(self._folder)
        except (OSError, GitError):  # a lock of a killed git, too
            shutil.rmtree(place, ignore_errors=True)

    def _place(self, repository: Repository) -> Path:
        """Return the object database of ours beside that of a repository."""
        name = hashlib.blake2b(bytes(repository.common_dir), digest_size=16).hexdigest()
        return self._folder / name


def _write(repository: Repository, head: str, folder: Path, place: Path) -> None:
    """Write the graph of a repository, unless it is there up to a commit."""
    info = place / "info"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for part in (place, info):
        part.mkdir(exist_ok=True, mode=0o700)
    check_ours_alone(folder, place, info)
    written_at = info / WRITTEN_AT
    with contextlib.suppress(FileNotFoundError):
        if written_at.read_text(encoding="ascii") == head:
            return
    (info / ALTERNATES).write_bytes(bytes(repository.common_dir / "objects") + b"\n")
    _with_graph(repository, place).git.output(
        "commit-graph", "write", "--stdin-commits", "--changed-paths", "--no-progress",
        f"--max-new-filters={MOST_NEW}", stdin=f"{check_commit(head)}\n".encode(),
    )  # fmt: skip
    written_at.write_text(head, encoding="ascii")


def _with_graph(repository: Repository, place: Path) -> Repository:
    """Return a repository whose commands look into a graph of ours."""
    git = repository.git.having(variables={"GIT_OBJECT_DIRECTORY": str(place)})
    return replace(repository, git=git)


def _is_whole(graph: bytes, repository: Repository) -> bool:
    """Return whether a graph is as git wrote it: it ends with the digest of all before."""
    digest = hashlib.new(repository.object_format, usedforsecurity=False)
    said = graph[-digest.digest_size :]
    digest.update(graph[: -digest.digest_size])
    return digest.digest() == said


def _forget(folder: Path) -> None:
    """Remove the graphs of repositories that were not asked about for longest."""
    places = sorted(folder.iterdir(), key=lambda place: place.stat().st_mtime, reverse=True)
    for place in places[MOST_KEPT:]:
        shutil.rmtree(place, ignore_errors=True)


WILD = "*?["
FOLDER_MODE = "040000"


def find_roots(repository: Repository, commit: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of a commit that match a pattern and hold a `reconciler.yaml`.

    A folder in another one that is found is part of that root, and none of its own.

    Args:
        repository: Where to look, below its prefix.
        commit: Full hex id.
        patterns: Folders such as `teams/*`; `*`, `?` and `[...]` match within one name.

    Returns:
        Their paths below the prefix, sorted.

    Raises:
        UsageError: A pattern is none.
    """
    parts = [_pattern_parts(pattern) for pattern in patterns]
    folders = sorted({folder for part in parts for folder in _matching(repository, commit, part)})
    return tuple(
        folder for folder in folders if not any(folder.startswith(f"{other}/") for other in folders)
    )


def _pattern_parts(pattern: str) -> Sequence[str]:
    """Return the names of a pattern, one a folder."""
    parts = pattern.split("/")
    if any(not part.isprintable() or part in ("", ".", "..", "**") for part in parts):
        raise UsageError(f"--roots {shown(pattern)} must be folders such as teams/*")
    return parts


def _matching(repository: Repository, commit: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the folders that match, and hold a configuration; a command for each name of it."""
    folders = [""]
    for part in parts:
        places = [f"{folder}/" if folder else "" for folder in folders]
        listed = _listed(repository, commit, places, folders=True)
        folders = [path for path in listed if _is_like(path.rpartition("/")[2], part)]
        if not folders:
            return
    marks = [f"{folder}/{CONFIGURATION_PATH}" for folder in folders]
    for path in _listed(repository, commit, marks, folders=False):
        with contextlib.suppress(ValueError):  # what we would not write to is no root
            yield check_path(path.rpartition("/")[0])


def _is_like(name: str, part: str) -> bool:
    return fnmatchcase(name, part) if any(sign in part for sign in WILD) else name == part


def _listed(
    repository: Repository, commit: str, paths: Iterable[str], *, folders: bool
) -> Iterator[str]:
    """Yield the folders among paths, or all else.

    Of a path that ends with `/` it is what is in that folder. All are below the prefix, and `""`
    stands for what is in that.
    """
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    places = [path for path in (f"{prefix}{path}" for path in paths) if path]
    listed = repository.git.output("ls-tree", "-z", "--full-tree", commit, "--", *places)
    for entry in listed.decode(errors="surrogateescape").split("\0"):
        head, _, path = entry.partition("\t")
        if path and head.startswith(FOLDER_MODE) == folders:
            yield path.removeprefix(prefix)
