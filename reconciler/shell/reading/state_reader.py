"""The state tree of one commit after the other: all outputs, or those that one object reads."""

from collections.abc import Iterable

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.file_validation import FileValidation
from reconciler.core.state import StateTree, blocks_of, check_ours, follow_state, read_state
from reconciler.shell.reading.listings import Listings
from reconciler.shell.reading.tree_cache import Choice, TreeCache
from reconciler.shell.work.validators import FileValidators


class StateReader:
    """Reads what stands below the output root; a following commit costs what differs."""

    def __init__(self, cache: TreeCache, listings: Listings, root: str) -> None:
        """Remember where to read, and the output root."""
        self._cache = cache
        self._listings = listings
        self._root = root
        self._state: StateTree | None = None
        self._choice: Choice | None = None

    @property
    def files(self) -> Iterable[FileValidation]:
        """What the chosen files hold at the commit that was asked for last."""
        return self._cache.files

    def follow(self, revision: str, choice: Choice, by: FileValidators) -> StateTree:
        """Go on to a commit, and return the chosen outputs.

        Raises:
            UsageError: The output root is a folder of people's manifests.
        """
        move = self._cache.follow(revision, choice, by)
        self._cache.keep(())
        listing = self._listings.listing(revision)
        blocks = blocks_of(listing.links | listing.others, self._root, KINDS)
        if self._state is None or choice != self._choice:
            self._state = read_state(move.files.values(), self._root, KINDS, blocks)
        else:
            self._state = follow_state(self._state, move, self._root, KINDS, blocks)
        self._choice = choice
        check_ours(self._state, self._root)
        return self._state

    def forget(self) -> None:
        """Begin anew: what is known may lag behind its files."""
        self._state = None
