"""Holds before a repository of a newer format: what is written there may not mean what it seems."""

from dataclasses import dataclass, field

from reconciler.core.format_version import newer_format
from reconciler.errors import ShellError
from reconciler.manifests.text.limits import Oversized
from reconciler.manifests.text.reader import read
from reconciler.shell.git.objects import TreeEntry
from reconciler.shell.reading.trees import Trees
from reconciler.version import __version__

FEW = 1000  # versions of two files


class NewerFormat(ShellError):
    """A repository has a format that this release does not know; a newer one may take it."""


@dataclass(slots=True, eq=False)
class FormatGuard:
    """Looks at the documents that say which format a repository has, each version once."""

    trees: Trees
    _good: set[str] = field(default_factory=set)

    def check(self, path: str, entry: TreeEntry | None) -> None:
        """Refuse a newer format; what cannot be read is told elsewhere.

        Raises:
            NewerFormat: The file has one.
        """
        if entry is None or not entry.is_file or entry.blob in self._good:
            return
        for _, content in self.trees.blobs([entry.blob]):
            if isinstance(content, Oversized):
                continue
            for document in read(content, path).documents:
                if found := newer_format(document.body):
                    raise NewerFormat(
                        f"{path} has {found} ({__version__}); upgrade the reconciler, and "
                        "nothing is decided until then, see docs/upgrade.md"
                    )
        if len(self._good) >= FEW:
            self._good.clear()
        self._good.add(entry.blob)
