"""Which files stand below the folders of delivery; told from those before by what differs."""

from collections.abc import Mapping

from reconciler.model.versioned import Versioned, differing_keys, patched
from reconciler.shell.git.objects import TreeEntry


class DeliveredFiles:
    """The files of delivery in one commit after the other, as path to blob id."""

    def __init__(self) -> None:
        """Begin without having seen a commit."""
        self._roots: frozenset[str] = frozenset()
        self._listed: Mapping[str, TreeEntry] = {}
        self._files: Mapping[str, str] = Versioned()

    def follow(self, listed: Mapping[str, TreeEntry], roots: frozenset[str]) -> Mapping[str, str]:
        """Return the files below some folders, given all files of a commit."""
        if roots != self._roots:
            self._roots, self._listed, self._files = roots, {}, Versioned()
        if roots:
            below = tuple(f"{root}/" for root in roots)
            paths = [p for p in differing_keys(listed, self._listed) if p.startswith(below)]
            came = {path: listed[path].blob for path in paths if path in listed}
            self._files = patched(self._files, came, [p for p in paths if p not in listed])
            self._listed = listed
        return self._files
