"""The answer of a pass: files to write or delete, decisions, faults, and when to look again."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Replace the file at `path` (root-relative POSIX) by `content`, UTF-8."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Remove the file at `path` (root-relative POSIX)."""

    path: str


Change = WriteFile | DeleteFile
