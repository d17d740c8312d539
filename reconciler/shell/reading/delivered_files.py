"""Which files stand below the folders of delivery; told from those before by what differs."""

from collections.abc import Mapping

from reconciler.manifests.file_names import is_escaped
from reconciler.model.versioned import Versioned, differing_keys, patched
from reconciler.shell.git.objects import TreeEntry


class DeliveredFiles:
    """The files of delivery in one commit after the other, as path to blob id."""

    def __init__(self, branch: str = "") -> None:
        """Begin without having seen a commit of a branch; `""` is the one that is served.

        Files of another one are told as git does: `BRANCH:PATH`.
        """
        self._prefix = f"{branch}:" if branch else ""
        self._roots: frozenset[str] = frozenset()
        self._listed: Mapping[str, TreeEntry] = {}
        self._files: Mapping[str, str] = Versioned()

    def follow(self, listed: Mapping[str, TreeEntry], roots: frozenset[str]) -> Mapping[str, str]:
        """Return the files below some folders, given all files of a commit."""
        if roots != self._roots:
            self._roots, self._listed, self._files = roots, {}, Versioned()
        if roots:
            prefix, below = self._prefix, tuple(f"{root}/" for root in roots)
            told = {path: f"{prefix}{path}" for path in differing_keys(listed, self._listed)}
            mine = {
                path: name
                for path, name in told.items()
                if name.startswith(below) and not is_escaped(path)
            }
            came = {name: listed[path].blob for path, name in mine.items() if path in listed}
            gone = [name for path, name in mine.items() if path not in listed]
            self._files = patched(self._files, came, gone)
            self._listed = listed
        return self._files
