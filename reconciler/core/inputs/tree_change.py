"""What became of the files of a tree from one commit to the next, so that work follows that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.core.inputs.file_validation import FileValidation


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """The files of a tree, and how they differ from those before.

    Attributes:
        files: Every file now, by path.
        gone: The files as they were that are no more, or are different now; by path.
        came: The files as they are that are new, or were different before; by path.
    """

    files: Mapping[str, FileValidation]
    gone: tuple[FileValidation, ...]
    came: tuple[FileValidation, ...]


def change_between(
    before: Mapping[str, FileValidation], files: Mapping[str, FileValidation], paths: Iterable[str]
) -> TreeChange:
    """Return the move from one set of files to another that differ in these paths at most."""
    differing = sorted(path for path in paths if before.get(path) is not files.get(path))
    return TreeChange(
        files=files,
        gone=tuple(before[path] for path in differing if path in before),
        came=tuple(files[path] for path in differing if path in files),
    )
