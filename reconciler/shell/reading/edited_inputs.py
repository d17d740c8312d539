"""Which input files differ from those of the last pass, followed from commit to commit."""

from collections.abc import Callable

from reconciler.core.record import LastPass
from reconciler.manifests.file_names import is_manifest_name
from reconciler.model.versioned import differing_keys
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.objects import TreeEntry
from reconciler.shell.reading.listings import Listings
from reconciler.shell.reading.reported_trees import paired
from reconciler.shell.reading.trees import Trees

Covers = Callable[[str], bool]
"""Tells of a path whether its file is read; the same choice of files is equal."""

Before = dict[str, TreeEntry | None]
"""Path to what stood there at the last pass, `None` for nothing."""


class EditedInputs:
    """The files that differ since one pass; what a pass wrote itself is gone through once."""

    def __init__(self, trees: Trees, listings: Listings) -> None:
        """Remember where to look."""
        self._trees, self._listings = trees, listings
        self._followed: tuple[str, str, Covers, Before] | None = None

    def find(self, last: LastPass | None, inputs: str, covers: Covers) -> Before:
        """Return the files that differ as they were, none where those of the last pass are lost.

        Args:
            last: The last pass that committed, `None` if there was none.
            inputs: The commit with the inputs now, with the one of the reports if there is one.
            covers: Tells of a path whether its file is read.
        """
        if last is None:
            return {}
        known = paired(last.revision, last.reported_at) if last.reported_at else last.revision
        try:
            before = self._before(known, inputs, covers)
        except GitError:
            return {}
        self._followed = known, inputs, covers, before
        now = self._listings.entries(inputs)
        return {path: entry for path, entry in before.items() if now.get(path) != entry}

    def _before(self, last: str, inputs: str, covers: Covers) -> Before:
        """Return what the files held that changed since, some of which may be as they were."""
        followed = self._followed
        if followed is not None and (followed[0], followed[2]) == (last, covers):
            _, at, _, known = followed
            if at == inputs:
                return known
            then = self._listings.entries(at)
            came = {path: then.get(path) for path in self._listings.differing(at, inputs)}
            return {**_read(came, covers), **known}
        if last == inputs:
            return {}
        if self._listings.knows(last):
            then, now = self._listings.entries(last), self._listings.entries(inputs)
            return _read({path: then.get(path) for path in differing_keys(now, then)}, covers)
        changes = self._trees.changed(last, inputs)
        return _read({change.path: change.before for change in changes}, covers)


def _read(found: Before, covers: Covers) -> Before:
    """Return those of the files that are read."""
    return {path: e for path, e in found.items() if is_manifest_name(path) and covers(path)}
