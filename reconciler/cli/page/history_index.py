"""What the newest commits of a branch moved: read once, then followed from commit to commit.

No view walks the history: it asks this, which is filled while no view is asked for, and says how
far it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reconciler.audit.history.commit_events import needed
from reconciler.audit.history.commit_moves import moves_of_commit
from reconciler.audit.history.moves_over_time import CommitMoves, commit_moves
from reconciler.audit.history.revisions import pass_of
from reconciler.errors import ReconcilerError
from reconciler.shell.git.revisions import cut_off

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.audit.history.commit_moves import ObjectMoves
    from reconciler.audit.history.revisions import Commit
    from reconciler.shell.reading.revisions import GitRevisions

MOST_COMMITS = 400
MOST_BLOBS = 400  # versions of outputs that are read for what one commit moved
MORE_BLOBS = 1200  # where no view waits for it
AT_ONCE = 8  # commits that are read where a view waits; more are left for later


@dataclass(slots=True, eq=False)
class HistoryIndex:
    """The newest commits along first parents, and what each moved.

    Attributes:
        revisions: The history of the repository.
        commits: The newest ones, the newest first.
    """

    revisions: "GitRevisions"
    commits: "list[Commit]" = field(default_factory=list)
    _moves: dict[str, CommitMoves] = field(default_factory=dict)
    _read: int = 0

    def follow(
        self, head: str, since: str = "", moved: "Sequence[ObjectMoves] | None" = None
    ) -> None:
        """Go on to another commit; what it and few before it moved is read at once.

        Args:
            head: Full hex id of the commit.
            since: One before it of which it is known what moved since, `""` for none.
            moved: What moved in between.
        """
        came = self._list(head)
        self._read = 0 if came is None else self._read + came
        if moved is not None:
            self._learn(since, moved)
        for commit in self.commits[:AT_ONCE]:
            self.moves_of(commit)
        self._skip()

    def read_on(self) -> bool:
        """Read what one more commit moved; return whether there are more."""
        if not self.is_complete:
            self.moves_of(self.commits[self._read], MORE_BLOBS)
            self._skip()
        return not self.is_complete

    def read_back_to(self, moment: "datetime") -> None:
        """Read what the commits since a moment moved, and the one before them."""
        while not self.is_complete and self._oldest_read >= moment:
            self.read_on()

    @property
    def _oldest_read(self) -> "datetime":
        """The moment of the oldest commit that was read, or of the newest one."""
        return self.moves_of(self.commits[max(0, self._read - 1)]).at

    @property
    def is_whole(self) -> bool:
        """Whether there are no older commits than these, and all were read."""
        return self.is_complete and len(self.commits) < MOST_COMMITS

    @property
    def is_complete(self) -> bool:
        """Whether it is known of each commit what it moved, or that it is too much."""
        return self._read >= len(self.commits)

    @property
    def found(self) -> list[CommitMoves]:
        """What the newest commits moved, the newest first, as far as that was read."""
        return [self._moves[one.revision] for one in self.commits[: self._read]]

    def moves_of(self, commit: "Commit", most_blobs: int = MOST_BLOBS) -> CommitMoves:
        """Return what a commit moved; it is read if it is not known.

        Args:
            commit: One of any age.
            most_blobs: How many versions of outputs may be read.
        """
        found = self._moves.get(commit.revision)
        if found is None:
            found = _counted(commit, self._read_moves(commit, most_blobs))
            if found.objects is not None or most_blobs == MORE_BLOBS:
                self._moves[commit.revision] = found  # else it is read later, with more time
        return found

    def _list(self, head: str) -> int | None:
        """List the commits up to another one; return how many came, `None` if all are new."""
        old = self.commits[0].revision if self.commits else None
        if old is not None:
            line = self.revisions.lineage(head, but=old, whole=False)
            came = [line[at] for at in range(min(len(line.revisions), MOST_COMMITS))]
            goes_on = came[-1].parent == old if came else self.revisions.moved_at(head) == old
            if goes_on:
                self.commits = [*came, *self.commits][:MOST_COMMITS]
                return len(came)
        line = self.revisions.lineage(head, whole=False)
        self.commits = [line[at] for at in range(min(len(line.revisions), MOST_COMMITS))]
        return None

    def _learn(self, since: str, moved: "Sequence[ObjectMoves]") -> None:
        """Take what moved since an older commit, if one pass did that."""
        ids = [commit.revision for commit in self.commits]
        if since not in ids:
            return
        came = self.commits[: ids.index(since)]
        passes = [commit for commit in came if pass_of(commit) is not None]
        edits = [c for c in came if pass_of(c) is None and self._needs(c)]
        if len(passes) == 1 and not edits:
            self._moves[passes[0].revision] = _counted(passes[0], moved)

    def _skip(self) -> None:
        """Go on to the first commit of which nothing is known."""
        while not self.is_complete and self.commits[self._read].revision in self._moves:
            self._read += 1
        if self.is_complete:
            known = {commit.revision for commit in self.commits}
            self._moves = {name: one for name, one in self._moves.items() if name in known}

    def _needs(self, commit: "Commit") -> list[str]:
        """Return the versions of outputs that what a commit moved is told from."""
        return list(needed(self.revisions.changes(commit), self.revisions.layout))

    def _read_moves(self, commit: "Commit", most_blobs: int) -> "tuple[ObjectMoves, ...] | None":
        """Return what a commit moved by its files, `None` where they are too many or not here."""
        revisions = self.revisions
        if commit.revision in cut_off(revisions.repository):
            return None  # of what was before it a shallow clone has nothing
        try:
            blobs = self._needs(commit)
            if len(blobs) > most_blobs:
                return None
            changes = revisions.changes(commit)
            return moves_of_commit(changes, revisions.texts(blobs), revisions.layout)
        except ReconcilerError:
            return None  # an object that is lost makes no view of another commit fail


def _counted(commit: "Commit", found: "Sequence[ObjectMoves] | None") -> CommitMoves:
    """Return what a commit moved, at its moment."""
    read = pass_of(commit)
    at = commit.committed_at if read is None else read.at
    return commit_moves(commit.revision, at, found)
