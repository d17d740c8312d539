"""The only file that reads manifests from a folder instead of from git."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.core.inspect import Rules, inspect
from reconciler.core.intake import configuration_of
from reconciler.core.survey import CONFIGURATION_PATH, survey
from reconciler.errors import UsageError
from reconciler.manifests.selection import SUFFIXES, selects
from reconciler.model.settings import Settings, decode_settings


def find_manifests(
    directory: Path, paths: Sequence[Path], *, output_root: str, rules: Rules
) -> list[str]:
    """Return the files to check, relative to the folder where they are in it, sorted.

    Args:
        directory: The root.
        paths: Files and folders asked for, relative to the root; none means the root itself. A
            file that is named is checked whatever its name.
        output_root: Folder below the root that is left out.
        rules: What the configuration is held against.

    Raises:
        UsageError: A path is not there, or cannot be read.
    """
    settings = _settings(directory, rules)
    root = directory.resolve()
    found = set()
    for path in [directory / path for path in paths] or [directory]:
        if not path.exists():
            raise UsageError(f'"{path}" does not exist')
        if path.is_file():
            found.add(_relative(root, path))
            continue
        for file in _walk(path):
            relative = _relative(root, file)
            inside = not relative.startswith(("/", f"{output_root}/"))
            if inside and selects(relative, include=settings.include, exclude=settings.exclude):
                found.add(relative)
    return sorted(found)


def read_file(directory: Path, path: str) -> bytes:
    """Return the content of a file that `find_manifests` named.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        return (directory / path).read_bytes()
    except OSError as error:
        raise UsageError(f'"{path}" cannot be read: {error.strerror}') from None


def _settings(directory: Path, rules: Rules) -> Settings:
    """Read the configuration of a folder; a faulty one counts as absent and is reported later."""
    file = directory / CONFIGURATION_PATH
    if not file.is_file():
        return Settings()
    inspection = inspect(CONFIGURATION_PATH, "", read_file(directory, CONFIGURATION_PATH), rules)
    return decode_settings(configuration_of(survey([inspection]), ()))


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
