"""What the newest commits of a branch moved: read once, then followed from commit to commit.

No view walks the history: it asks this, which is filled while no view is asked for, and says how
far it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reconciler.audit.history.commit_events import needed
from reconciler.audit.history.commit_moves import moves_of_commit, pieces_of
from reconciler.audit.history.moves_over_time import CommitMoves, commit_moves
from reconciler.audit.history.revisions import pass_of
from reconciler.errors import ReconcilerError
from reconciler.shell.git.revisions import cut_off

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.audit.history.commit_moves import ObjectMoves
    from reconciler.audit.history.revisions import Commit, FileChange, Lineage
    from reconciler.shell.reading.revisions import GitRevisions

MOST_COMMITS = 400
MOST_BLOBS = 400  # versions of outputs that are read for what one commit moved
MORE_BLOBS = 10_000  # where no view waits for it
PIECE = 100  # changes that are read in one go then: 0.2 s of bindings on 55 clusters each
OVER = object()
AT_ONCE = 8  # commits that are read where a view waits; more are left for later


@dataclass(slots=True, eq=False)
class HistoryIndex:
    """The newest commits along first parents, and what each moved.

    Attributes:
        revisions: The history of the repository.
        most_blobs: How many versions of outputs are read of one commit where a view waits.
        piece: How many changes are read in one go where none does.
        commits: The newest ones, the newest first.
    """

    revisions: "GitRevisions"
    most_blobs: int = MOST_BLOBS
    piece: int = PIECE
    commits: "list[Commit]" = field(default_factory=list)
    _moves: dict[str, CommitMoves] = field(default_factory=dict)
    _read: int = 0
    _reading: tuple[str, Iterator[None]] | None = None

    def follow(
        self, head: str, since: str = "", moved: "Sequence[ObjectMoves] | None" = None
    ) -> None:
        """Go on to another commit; what it and few before it moved is read at once.

        Args:
            head: Full hex id of the commit.
            since: One before it of which it is known what moved since, `""` for none.
            moved: What moved in between.
        """
        self._list(head)
        if moved is not None:
            self._learn(since, moved)
        for commit in self.commits[:AT_ONCE]:
            self.moves_of(commit)
        self._read = 0
        self._skip()

    def read_on(self) -> bool:
        """Read a piece of what one more commit moved; return whether there is more."""
        if not self.is_complete:
            commit = self.commits[self._read]
            if self._reading is None or self._reading[0] != commit.revision:
                self._reading = commit.revision, self._read_in_pieces(commit)
            if next(self._reading[1], OVER) is OVER:
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

    def moves_of(self, commit: "Commit") -> CommitMoves:
        """Return what a commit of any age moved; it is read if that is not too much."""
        found = self._moves.get(commit.revision)
        if found is None:
            found = _counted(commit, self._read_moves(commit))
            if found.objects is not None:  # else it is read later, in pieces
                self._moves[commit.revision] = found
        return found

    def _list(self, head: str) -> None:
        """List the commits up to another one."""
        old = self.commits[0].revision if self.commits else None
        if old is not None:
            came = self._newest(self.revisions.lineage(head, but=old, whole=False))
            goes_on = came[-1].parent == old if came else self.revisions.moved_at(head) == old
            if goes_on:
                self.commits = [*came, *self.commits][:MOST_COMMITS]
                return
        self.commits = self._newest(self.revisions.lineage(head, whole=False))

    def _newest(self, line: "Lineage") -> "list[Commit]":
        """Return the newest commits of a history."""
        return [line[at] for at in range(min(len(line.revisions), MOST_COMMITS))]

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

    def _read_moves(self, commit: "Commit") -> "tuple[ObjectMoves, ...] | None":
        """Return what a commit moved by its files, `None` where they are too many or not here."""
        try:
            changes = self._changes(commit, self.most_blobs)
            return None if changes is None else self._told(changes)
        except ReconcilerError:
            return None  # an object that is lost makes no view of another commit fail

    def _read_in_pieces(self, commit: "Commit") -> Iterator[None]:
        """Read what a commit moved; stop after each piece."""
        found: list[ObjectMoves] | None = None
        try:
            changes = self._changes(commit, MORE_BLOBS)
            if changes is not None:
                found = []
                for piece in pieces_of(changes, self.revisions.layout, self.piece):
                    found += self._told(piece)
                    yield
        except ReconcilerError:
            found = None
        told = None if found is None else sorted(found, key=lambda one: one.key)
        self._moves[commit.revision] = _counted(commit, told)

    def _changes(self, commit: "Commit", most_blobs: int) -> "Sequence[FileChange] | None":
        """Return what a commit changed, `None` where that is too much or half of it is missing."""
        if commit.revision in cut_off(self.revisions.repository):
            return None  # of what was before it a shallow clone has nothing
        is_much = len(self._needs(commit)) > most_blobs
        return None if is_much else self.revisions.changes(commit)

    def _told(self, changes: "Sequence[FileChange]") -> "tuple[ObjectMoves, ...]":
        """Return what some changes moved."""
        layout = self.revisions.layout
        return moves_of_commit(changes, self.revisions.texts(needed(changes, layout)), layout)


def _counted(commit: "Commit", found: "Sequence[ObjectMoves] | None") -> CommitMoves:
    """Return what a commit moved, at its moment."""
    read = pass_of(commit)
    at = commit.committed_at if read is None else read.at
    return commit_moves(commit.revision, at, found)
