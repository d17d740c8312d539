"""Where manifests to be checked come from: a folder, or a commit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from reconciler.core.file_validation import Rules
from reconciler.manifests.limits import Oversized
from reconciler.manifests.selection import SUFFIXES


@dataclass(frozen=True, slots=True)
class FoundManifests:
    """The files to check, and the symbolic links that are skipped; both sorted.

    Paths are relative to the root, those of files outside of it absolute.
    """

    files: tuple[str, ...]
    links: tuple[str, ...] = ()


class ManifestSource(Protocol):
    """Answers which files there are, and what they hold."""

    def is_root(self, path: Path, /) -> bool:
        """Return whether a path is the root itself."""

    def is_file(self, path: Path, /) -> bool:
        """Return whether a path names one file."""

    def find(
        self, paths: Sequence[Path], *, output_root: str, rules: Rules, forced: bool = True
    ) -> FoundManifests:
        """Return the files to check.

        Args:
            paths: Files, folders and globs asked for; none means the root. `-` is standard input.
            output_root: Folder below the root that is left out.
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

    def records(self, output_root: str, kind: str, /) -> list[str]:
        """Return the files that hold one kind's status, sorted.

        Args:
            output_root: Folder below the root that the reconciler owns.
            kind: `<plural>.<group>`, as the folder is named.
        """


def skipped_as(link: str) -> str:
    """Return which file a link may stand for: itself, or one in the folder that it leads to.

    >>> skipped_as("clusters/member1.yaml"), skipped_as("clusters")
    ('clusters/member1.yaml', 'clusters/any.yaml')
    """
    return link if link.endswith(SUFFIXES) else f"{link}/any.yaml"
