"""Where manifests to be checked come from: a folder, or a commit.

This is the only file that reads manifests from a folder instead of from git.
"""

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from reconciler.core.inputs.index import InputFiles, index_inputs, input_files
from reconciler.core.inputs.last_known_good import LastKnownGood
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.core.inputs.world import configuration_of
from reconciler.core.state import read_state
from reconciler.errors import UsageError
from reconciler.manifests.paths import (
    DELIVERY,
    is_manifest_name,
    output_path,
    selects,
    shown_path,
    stored_path,
)
from reconciler.manifests.text.raw import MAX_READ_BYTES, Oversized
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import CONFIGURATION_PATH, Settings, decode_settings


@dataclass(frozen=True, slots=True)
class FoundManifests:
    """The files to check, the symbolic links and the names that are skipped; all sorted.

    Paths are relative to the root, those of files outside of it absolute; both as they are shown.
    `skipped` are files that may hold manifests, but for their names. `allowed` are the settings of
    the root's configuration with which manifests may say more.
    """

    files: tuple[str, ...]
    links: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()


class ManifestSource(Protocol):
    """Answers which files there are, and what they hold."""

    @property
    def layout(self) -> RepositoryLayout:
        """Where passes write: nothing of it is to be checked."""

    def is_root(self, path: Path, /) -> bool:
        """Return whether a path is the root itself."""

    def is_file(self, path: Path, /) -> bool:
        """Return whether a path names one file."""

    def find(self, paths: Sequence[Path], *, rules: Rules, forced: bool = True) -> FoundManifests:
        """Return the files to check.

        Args:
            paths: Files, folders and globs asked for; none means the root. `-` is standard input.
            rules: What the configuration is held against.
            forced: Whether a file that is named is checked whatever its name; if not, only one
                that a folder would have led to.

        Raises:
            UsageError: A path is not there, or cannot be read.
        """

    def contents(self, paths: Sequence[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield files with their content, or their size if they are too large.

        Raises:
            UsageError: One cannot be read.
        """

    def records(self, kind: str, /) -> list[str]:
        """Return the files that hold one kind's status, sorted.

        Args:
            kind: `<plural>.<group>`, as the folder is named; `""` for all.
        """


def skipped_as(link: str) -> str:
    """Return which file a link may stand for: itself, or one in the folder that it leads to.

    >>> skipped_as("clusters/member1.yaml"), skipped_as("clusters")
    ('clusters/member1.yaml', 'clusters/any.yaml')
    """
    return link if is_manifest_name(link) else f"{link}/any.yaml"


def chosen_by(
    read: Callable[[str], Iterable[bytes | Oversized]], layout: RepositoryLayout, rules: Rules
) -> tuple[InputFiles, Settings]:
    """Return which files are input, and the configuration.

    Both are told by the configuration and the record of delivery as written. A faulty one counts
    as absent; that of a person is reported where it is read.

    Args:
        read: Returns the content of a file by its path; nothing if there is none.
        layout: Where passes write.
        rules: What the configuration is held against.

    Raises:
        UsageError: One cannot be read.
    """
    configuration, record = CONFIGURATION_PATH, output_path(layout.output_root, DELIVERY)
    of_outputs = replace(rules, admissions={}, status_only=True)
    inputs = [validate_file(configuration, "", content, rules) for content in read(configuration)]
    outputs = [validate_file(record, "", content, of_outputs) for content in read(record)]
    configured = configuration_of(index_inputs(inputs, rules.known), LastKnownGood())
    recorded = read_state(outputs, layout.output_root, rules.known).manifests
    settings = decode_settings(configured)
    return input_files(settings, layout, recorded), settings


STDIN = "<stdin>"
"""What standard input is called where a path is expected; no file can be named so by accident."""


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Manifests as they are on disk, committed or not; see `ManifestSource`.

    `root` is the root, `base` the folder where paths start, `None` for the root. What passes write
    is where `layout` says.
    """

    root: Path
    layout: RepositoryLayout
    base: Path | None = None

    def is_root(self, path: Path) -> bool:
        """Return whether a path is the root itself."""
        return (self._start / path).resolve() == self.root.resolve()

    def is_file(self, path: Path) -> bool:
        """Return whether a path names one file."""
        return (self._start / path).is_file()

    def find(self, paths: Sequence[Path], *, rules: Rules, forced: bool = True) -> FoundManifests:
        """Return the files to check; a folder outside of the root has no configuration."""
        covers, settings = chosen_by(partial(_written, self.root), self.layout, rules)
        root, start = self.root.resolve(), self._start

        def is_read(path: str) -> bool:
            return not path.startswith("/") and covers(path)

        files: set[str] = set()
        links: set[str] = set()
        skipped: set[str] = set()
        for path in paths or [root]:
            place = start / path
            if str(path) == "-":
                files.add(STDIN)
            elif place.is_file():
                relative = _relative(root, place)
                if forced or is_read(relative):
                    files.add(relative)
            elif place.is_dir() and not place.resolve().is_relative_to(root):
                files.update(_outside(place.resolve()))
            elif place.is_dir():
                files.update(name for name in _named(root, _files(place)) if is_read(name))
                links.update(name for name in _links(root, place) if is_read(skipped_as(name)))
                skipped.update(filter(covers.passes_over, _named(root, _files(place, every=True))))
            else:
                files.update(
                    name for name in _named(root, map(str, _matching(start, path))) if is_read(name)
                )
        return FoundManifests(
            files=tuple(sorted(files)),
            links=tuple(sorted(links)),
            skipped=tuple(sorted(skipped)),
            allowed=settings.allowed,
        )

    def contents(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield files with their content."""
        return ((path, read_file(self.root, stored_path(path))) for path in paths)

    def records(self, kind: str) -> list[str]:
        """Return the files below the output root that hold one kind's status, sorted."""
        folder, root = self.root / self.layout.output_root / kind, self.root.resolve()
        return sorted(_named(root, _files(folder))) if folder.is_dir() else []

    @property
    def _start(self) -> Path:
        return self.root if self.base is None else self.base


def _outside(folder: Path) -> Iterator[str]:
    """Yield the manifest files of a folder that is not in the root."""
    files = list(_files(folder))
    for file, name in zip(files, _named(folder, files), strict=True):
        if selects(name, include=(), exclude=()):
            yield file


def _matching(start: Path, path: Path) -> list[Path]:
    """Return the plain files that a glob matches.

    Raises:
        UsageError: No file matches.
    """
    names = glob.glob(str(path), root_dir=start, recursive=True)  # noqa: PTH207  # takes absolute globs, too
    files = [start / name for name in names if _is_named_like_one(name)]
    files = [file for file in files if file.is_file() and not file.is_symlink()]
    if not files:
        raise UsageError(f'"{start / path}" does not exist')
    return files


def read_file(directory: Path, path: str) -> bytes | Oversized:
    """Return the content of a file that `find_manifests` named, or its size if it is too large.

    Raises:
        UsageError: It cannot be read.
    """
    if path == STDIN:
        data = sys.stdin.buffer.read(MAX_READ_BYTES + 1)
        return Oversized(len(data)) if len(data) > MAX_READ_BYTES else data
    try:
        size_bytes = (directory / path).stat().st_size
        if size_bytes > MAX_READ_BYTES:
            return Oversized(size_bytes)
        return (directory / path).read_bytes()
    except OSError as error:
        raise UsageError(f'"{path}" cannot be read: {error.strerror}') from None


def _written(directory: Path, path: str) -> Iterator[bytes | Oversized]:
    """Yield what a file of a folder holds, nothing if there is none."""
    if (directory / path).is_file():
        yield read_file(directory, path)


def _files(folder: Path, *, every: bool = False) -> Iterator[str]:
    """Yield the plain files of a folder that are named like manifests, or every one."""
    listed = _walk(folder, every=every)
    return (entry.path for entry in listed if entry.is_file(follow_symlinks=False))


def _links(root: Path, folder: Path) -> Iterator[str]:
    """Yield the symbolic links of a folder that may lead to manifests, as they are called there."""
    for link in _walk(folder):
        if link.is_symlink():
            parent = Path(link.path).parent
            yield f"{_relative(root, parent)}/{shown_path(link.name)}".removeprefix("./")


def _walk(folder: Path, *, every: bool = False) -> Iterator[os.DirEntry[str]]:
    """Yield what is named like a manifest, and links to folders; dot-folders are not entered.

    With `every` files are yielded whatever their names.

    What the listing of a folder tells is not asked of each file again.
    """
    left = [str(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as listed:
                entries = list(listed)
        except OSError:
            continue  # as if it were empty
        for entry in entries:
            if not _is_folder(entry):
                if every or _is_named_like_one(entry.name):
                    yield entry
            elif entry.name.startswith("."):
                continue
            elif entry.is_symlink():
                yield entry
            else:
                left.append(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether something is a folder, or leads to one; a link may lead to itself."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_named_like_one(name: str) -> bool:
    return is_manifest_name(shown_path(name))


def _named(root: Path, files: Iterable[str]) -> Iterator[str]:
    """Yield files, none of them followed if it is a link, as they are called in the root."""
    folders: dict[str, str] = {}
    for file in files:
        parent, slash, name = file.rpartition("/")
        if parent not in folders:
            folders[parent] = _place(root, Path(parent + slash)).rstrip("/")
        yield shown_path(f"{folders[parent]}/{name}".removeprefix("./"))


def _relative(root: Path, path: Path) -> str:
    """Return a path relative to the root, or absolute if it is elsewhere; as it is shown."""
    return shown_path(_place(root, path))


def _place(root: Path, path: Path) -> str:
    """Return a path relative to the root, or absolute if it is elsewhere."""
    resolved = path.resolve()
    if resolved.is_relative_to(root):
        return resolved.relative_to(root).as_posix()
    return resolved.as_posix()
