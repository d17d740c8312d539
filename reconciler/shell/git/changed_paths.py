"""Which paths each commit changed, as git's own commit-graph tells, in a folder of ours.

Without it git looks into the folders of each commit to find those that changed one file. A person's
repository is left to git, so the graph stands elsewhere: in an object database that has nothing
else, and the one of the repository as its alternate. Whatever is wrong with it costs time, never an
answer.
"""

import contextlib
import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

from reconciler.shell.git.errors import GitError
from reconciler.shell.git.repository import Repository, check_commit
from reconciler.shell.processes.disk import check_ours_alone

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
    for one in (place, info):
        one.mkdir(exist_ok=True, mode=0o700)
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
