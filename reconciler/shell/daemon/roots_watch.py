"""Notices when a branch has other roots than those that are served."""

import threading
from collections.abc import Callable, Collection
from contextlib import suppress

from reconciler.errors import ReconcilerError
from reconciler.shell.daemon.events import BranchRead, DaemonEvent


class RootsWatch:
    """Looks at each commit that a daemon reads; observe the daemons of all roots with it.

    Where the branch has no root at all, those that are served stay: somebody will bring them back.

    Args:
        served: The roots that are served.
        find: Returns the roots at a commit, by its full hex id.
        changed: Called once when they are others.
    """

    def __init__(
        self,
        served: Collection[str],
        find: Callable[[str], Collection[str]],
        changed: Callable[[], None],
    ) -> None:
        self._served = frozenset(served)
        self._find = find
        self._changed = changed
        self._seen = ""
        self._turn = threading.Lock()
        self.reload = False
        """Whether they are."""

    def __call__(self, event: DaemonEvent) -> None:
        """Look at the commit that was read, if it is new."""
        if not isinstance(event, BranchRead):
            return
        with self._turn, suppress(ReconcilerError):  # what cannot be read is told by the pass
            if self.reload or event.revision == self._seen:
                return
            found = frozenset(self._find(event.revision))
            self._seen = event.revision
            if found and found != self._served:
                self.reload = True
                self._changed()
