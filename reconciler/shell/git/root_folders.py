"""The folders of a commit that are roots: those of a pattern that hold a configuration."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from reconciler.errors import UsageError
from reconciler.model.message_text import shown
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.shell.git.commits import check_path
from reconciler.shell.git.repository import Repository

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
    parts = [_parts(one) for one in patterns]
    found = sorted({folder for one in parts for folder in _matching(repository, commit, one)})
    return tuple(
        folder for folder in found if not any(folder.startswith(f"{one}/") for one in found)
    )


def _parts(pattern: str) -> Sequence[str]:
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
        with suppress(ValueError):  # what we would not write to is no root
            yield check_path(path.rpartition("/")[0])


def _is_like(name: str, part: str) -> bool:
    """Return whether a name is that of a pattern."""
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
    found = repository.git.output("ls-tree", "-z", "--full-tree", commit, "--", *places)
    for entry in found.decode(errors="surrogateescape").split("\0"):
        head, _, path = entry.partition("\t")
        if path and head.startswith(FOLDER_MODE) == folders:
            yield path.removeprefix(prefix)
