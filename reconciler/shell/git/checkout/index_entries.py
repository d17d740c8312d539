"""What the index of a checkout says of some paths."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from reconciler.shell.git.command import Git

UNMERGED = ord("M")


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
    found = {}
    unmerged = None
    for record in records:
        if record[begin:] in wanted:
            found[record[begin:]] = IndexEntry(*record[: begin - 1].decode().split(" ")[:3])
        if record[0] == UNMERGED and unmerged is None:
            unmerged = record[begin:]
    others = (record[begin:] for record in records if record[begin:] not in wanted)
    obstacle = _obstacle(others, wanted - found.keys())
    by_path = {_text(path): entry for path, entry in found.items()}
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
    """Yield the folders above a path."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _text(path: bytes) -> str:
    return path.decode(errors="surrogateescape")


def _text_of(path: bytes | None) -> str | None:
    return None if path is None else _text(path)
