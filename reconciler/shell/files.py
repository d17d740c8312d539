"""The only file that reads manifests from a folder instead of from git."""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.core.file_validation import Rules, validate_file
from reconciler.core.input_index import CONFIGURATION_PATH, index_inputs
from reconciler.core.last_known_good import LastKnownGood
from reconciler.core.world_composition import configuration_of
from reconciler.errors import UsageError
from reconciler.manifests.limits import MAX_READ_BYTES, Oversized
from reconciler.manifests.selection import SUFFIXES, selects
from reconciler.model.settings import Settings, decode_settings

STDIN = "<stdin>"
"""What standard input is called where a path is expected; no file can be named so by accident."""


def find_manifests(
    directory: Path,
    paths: Sequence[Path],
    *,
    output_root: str,
    rules: Rules,
    forced: bool = True,
) -> list[str]:
    """Return the files to check, relative to the folder where they are in it, sorted.

    Args:
        directory: The root.
        paths: Files, folders and globs asked for, relative to the root; none means the root itself.
            `-` is standard input.
        output_root: Folder below the root that is left out.
        rules: What the configuration is held against.
        forced: Whether a file that is named is checked whatever its name; if not, only one that
            a folder would have led to.

    Raises:
        UsageError: A path is not there, or cannot be read.
    """
    settings = _settings(directory, rules)
    root = directory.resolve()

    def is_read(path: str) -> bool:
        inside = not path.startswith(("/", f"{output_root}/"))
        return inside and selects(path, include=settings.include, exclude=settings.exclude)

    found = set()
    for path in paths or [Path()]:
        if str(path) == "-":
            found.add(STDIN)
        elif (directory / path).is_file():
            relative = _relative(root, directory / path)
            if forced or is_read(relative):
                found.add(relative)
        else:
            found.update(name for name in _below(directory, path) if is_read(name))
    return sorted(found)


def _below(directory: Path, path: Path) -> Iterator[str]:
    """Yield the files of a folder, or those that a glob matches, relative to the root.

    Raises:
        UsageError: There is no such folder, and no file that matches.
    """
    root = directory.resolve()
    if (directory / path).is_dir():
        yield from (_relative(root, file) for file in _walk(directory / path))
        return
    names = glob.glob(str(path), root_dir=directory, recursive=True)  # noqa: PTH207  # takes absolute globs, too
    files = [directory / name for name in names if name.endswith(SUFFIXES)]
    files = [file for file in files if file.is_file() and not file.is_symlink()]
    if not files:
        raise UsageError(f'"{directory / path}" does not exist')
    yield from (_relative(root, file) for file in files)


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


def find_records(directory: Path, output_root: str, kind: str) -> list[str]:
    """Return the files below the output root that hold one kind's status, sorted.

    Args:
        directory: The root.
        output_root: Folder below the root that the reconciler owns.
        kind: `<plural>.<group>`, as the folder is named.
    """
    folder = directory / output_root / kind
    root = directory.resolve()
    return sorted(_relative(root, file) for file in _walk(folder)) if folder.is_dir() else []


def _settings(directory: Path, rules: Rules) -> Settings:
    """Read the configuration of a folder; a faulty one counts as absent and is reported later."""
    file = directory / CONFIGURATION_PATH
    if not file.is_file():
        return Settings()
    inspection = validate_file(
        CONFIGURATION_PATH, "", read_file(directory, CONFIGURATION_PATH), rules
    )
    return decode_settings(
        configuration_of(index_inputs([inspection], rules.known), LastKnownGood())
    )


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the plain files of a folder; links are not followed, dot-folders not entered."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(parent, name)
            if name.endswith(SUFFIXES) and file.is_file() and not file.is_symlink():
                yield file


def _relative(root: Path, path: Path) -> str:
    """Return a path relative to the root, or absolute if it is elsewhere."""
    resolved = path.resolve()
    if resolved.is_relative_to(root):
        return resolved.relative_to(root).as_posix()
    return resolved.as_posix()
