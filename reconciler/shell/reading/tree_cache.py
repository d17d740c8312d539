"""The files of one tree with what they hold, followed from commit to commit."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.index import InputFiles, TreeChange, change_between
from reconciler.core.inputs.stored import needs_text
from reconciler.core.inputs.validation import FileValidation
from reconciler.core.own_outputs import OwnOutputs
from reconciler.manifests.paths import is_escaped
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, replace
from reconciler.model.remembered import Versioned, patched
from reconciler.shell.reading.commit_part import NamedFiles
from reconciler.shell.reading.tables import DocumentCache
from reconciler.shell.reading.trees import Listings, Trees
from reconciler.shell.work.validators import FileValidators

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
        """Return whether a file is chosen; nothing of ours has a name that cannot be printed."""
        return path.startswith(f"{self.folder}/") and not is_escaped(path)


Choice = Below | InputFiles | OwnOutputs | NamedFiles


class TreeCache:
    """What the files of one tree hold, and versions of files that were asked for beside."""

    def __init__(
        self,
        trees: Trees,
        listings: Listings,
        name: str,
        *,
        track: Track,
        documents: DocumentCache | None,
    ) -> None:
        """Remember where to read, the name of the rules that inspect, and what was parsed before.

        `documents` of `None` stands for nothing.
        """
        self._trees = trees
        self._listings = listings
        self._name = name
        self._track = track
        self._documents = documents
        self._files: Mapping[str, FileValidation] = Versioned()
        self._last: tuple[str, Choice] | None = None
        self._versions: dict[tuple[str, str], FileValidation] = {}

    @property
    def files(self) -> Iterable[FileValidation]:
        """What the chosen files hold at the commit that was asked for last."""
        return self._files.values()

    def at(self, path: str) -> FileValidation | None:
        """Return what a chosen file holds, `None` if it is not there."""
        return self._files.get(path)

    def kinds_at(self, path: str) -> frozenset[Kind] | None:
        """Return the kinds of what a chosen file holds, `None` if it is not there."""
        file = self.at(path)
        return None if file is None else file.kinds

    def parsed(self, path: str, blob: str) -> FileValidation | None:
        """Return what a version of a file holds, `None` if that takes reading it."""
        present = self._files.get(path)
        if present is not None and present.blob == blob:
            return present
        return self._versions.get((path, blob))

    def follow(self, revision: str, choice: Choice, by: FileValidators) -> TreeChange:
        """Go on to a commit, and return what became of the files that are chosen."""
        before, entries = self._files, self._listings.entries(revision)
        if self._last is not None and self._last[1] == choice:
            paths: Collection[str] = self._listings.differing(self._last[0], revision)
        elif isinstance(choice, NamedFiles):
            paths = choice.paths | before.keys()
        else:
            paths = entries.keys() | before.keys()
        paths = [path for path in paths if choice(path) or path in before]
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
        file = self.parsed(path, blob)
        if file is None:
            file = self._versions[path, blob] = next(iter(self._read([(path, blob)], by)))
        return file

    def keep(self, needed: Collection[tuple[str, str]]) -> None:
        """Forget every other version."""
        self._versions = {pair: one for pair, one in self._versions.items() if pair in needed}

    def _read(self, pairs: list[tuple[str, str]], by: FileValidators) -> Iterable[FileValidation]:
        """Read and inspect files, those first that were parsed before."""
        if not pairs:
            return []
        stored = [] if self._documents is None else self._documents.find(self._name, pairs)
        return self._track(self._complete(pairs, stored, by), len(pairs))

    def _complete(
        self, pairs: list[tuple[str, str]], found: Iterable[FileValidation], by: FileValidators
    ) -> Iterator[FileValidation]:
        """Yield what was found, then what is found in the other files."""
        stored = set()
        for file in found:
            stored.add(file.path)
            yield file
        rest = [pair for pair in pairs if pair[0] not in stored]
        if not rest:
            return
        contents = self._trees.blobs(blob for _, blob in rest)
        files = ((*pair, content) for pair, (_, content) in zip(rest, contents, strict=True))
        for file in by.validate(files, len(rest), self._name):
            if self._documents is not None:
                self._documents.add(self._name, file)
            yield file if needs_text(file, KINDS) else replace(file, data=b"")
