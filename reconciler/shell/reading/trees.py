"""Where worlds are read from: the files of commits, what differs between commits, contents."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from reconciler.manifests.file_names import shown_path
from reconciler.manifests.text.limits import Oversized
from reconciler.shell.git.objects import (
    ChangedFile,
    TreeEntry,
    changed_files,
    list_files,
    read_blobs,
)
from reconciler.shell.git.repository import Repository


class Trees(Protocol):
    """The trees of one root; every path is relative to it, and as it is shown."""

    def files(self, revision: str, /) -> Mapping[str, TreeEntry]:
        """Return every file of a commit or tree, links included; see `list_files`.

        Raises:
            GitError: It cannot be read.
        """

    def changed(self, old: str, new: str, /) -> tuple[ChangedFile, ...]:
        """Return what differs between two of them; see `changed_files`.

        Raises:
            GitError: The older one cannot be read.
        """

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size, in the order asked for; see `read_blobs`.

        Raises:
            GitError: One is missing.
        """


@dataclass(frozen=True, slots=True)
class GitTrees:
    """The trees of a repository, below its prefix."""

    repository: Repository

    def files(self, revision: str, /) -> Mapping[str, TreeEntry]:
        """Return every file of a commit or tree."""
        listed = list_files(self.repository, revision, prefix=self.repository.prefix)
        return {shown_path(path): entry for path, entry in listed.items()}

    def changed(self, old: str, new: str, /) -> tuple[ChangedFile, ...]:
        """Return what differs between two of them."""
        changes = changed_files(self.repository, old, new, prefix=self.repository.prefix)
        return tuple(map(shown_change, changes))

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size."""
        return read_blobs(self.repository, ids)


def shown_change(change: ChangedFile) -> ChangedFile:
    """Return a change with its path as it is shown."""
    path = shown_path(change.path)
    return change if path is change.path else change._replace(path=path)
