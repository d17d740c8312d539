"""The files of one tree with what they hold, followed from commit to commit."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from reconciler.core.file_validation import FileValidation
from reconciler.core.tree_change import TreeChange, change_between
from reconciler.manifests.selection import selects
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.versioned import Versioned, patched
from reconciler.shell.listings import Listings
from reconciler.shell.trees import Trees
from reconciler.shell.validators import FileValidators

T = TypeVar("T")


class Track(Protocol):
    """Passes items on while they are worked through, such as to show how far it is."""

    def __call__(self, items: Iterable[T], total: int, /) -> Iterable[T]:
        """Return the same items."""


def untracked(items: Iterable[T], total: int, /) -> Iterable[T]:
    """Show nothing."""
    del total
    return items


@dataclass(frozen=True, slots=True)
class Below:
    """Chooses the files of a folder."""

    folder: str

    def __call__(self, path: str) -> bool:
        """Return whether a file is chosen."""
        return path.startswith(f"{self.folder}/")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Chooses what people write: the configuration, and what it lets be read."""

    output_root: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]

    def __call__(self, path: str) -> bool:
        """Return whether a file is chosen."""
        if path == CONFIGURATION_PATH:
            return True
        return not path.startswith(f"{self.output_root}/") and selects(
            path, include=self.include, exclude=self.exclude
        )


Choice = Below | Inputs


class TreeCache:
    """What the files of one tree hold, and versions of files that were asked for beside."""

    def __init__(self, trees: Trees, listings: Listings, name: str, track: Track) -> None:
        """Remember where to read, and the name of the rules that inspect."""
        self._trees = trees
        self._listings = listings
        self._name = name
        self._track = track
        self._files: Mapping[str, FileValidation] = Versioned()
        self._last: tuple[str, Choice] | None = None
        self._versions: dict[tuple[str, str], FileValidation] = {}

    @property
    def files(self) -> Iterable[FileValidation]:
        """What the chosen files hold at the commit that was asked for last."""
        return self._files.values()

    def follow(self, revision: str, choice: Choice, by: FileValidators) -> TreeChange:
        """Go on to a commit, and return what became of the files that are chosen."""
        before, entries = self._files, self._listings.entries(revision)
        if self._last is not None and self._last[1] == choice:
            paths: Collection[str] = self._listings.differing(self._last[0], revision)
        else:
            paths = entries.keys() | before.keys()
        chosen = {path: entries[path].blob for path in paths if path in entries and choice(path)}
        gone = [path for path in paths if path in before and path not in chosen]
        fresh = [
            (path, blob)
            for path, blob in chosen.items()
            if path not in before or before[path].blob != blob
        ]
        files = patched(before, {file.path: file for file in self._read(fresh, by)}, gone)
        self._files, self._last = files, (revision, choice)
        move = change_between(before, files, paths)
        self._versions |= {(file.path, file.blob): file for file in move.gone}
        return move

    def version(self, path: str, blob: str, by: FileValidators) -> FileValidation:
        """Return what a version of a file holds."""
        present = self._files.get(path)
        if present is not None and present.blob == blob:
            return present
        if (path, blob) not in self._versions:
            self._versions[path, blob] = next(iter(self._read([(path, blob)], by)))
        return self._versions[path, blob]

    def keep(self, needed: Collection[tuple[str, str]]) -> None:
        """Forget every other version."""
        self._versions = {pair: one for pair, one in self._versions.items() if pair in needed}

    def _read(self, pairs: list[tuple[str, str]], by: FileValidators) -> Iterable[FileValidation]:
        """Read and inspect files."""
        if not pairs:
            return []
        contents = self._trees.blobs(blob for _, blob in pairs)
        files = ((*pair, content) for pair, (_, content) in zip(pairs, contents, strict=True))
        return self._track(by.validate(files, len(pairs), self._name), len(pairs))
