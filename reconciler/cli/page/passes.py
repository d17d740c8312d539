"""The passes of a branch as the page shows them: a window of its history.

No view walks the history. The index is read once and then followed from commit to commit; it has
what the newest commits moved. It is filled while no view is asked for, and says how far it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.placed_objects import PlacedObjects, changed_owners
from reconciler.audit.history.events import needed
from reconciler.audit.history.moves import (
    CommitMoves,
    commit_moves,
    differences,
    moves_of_commit,
    pieces_of,
)
from reconciler.audit.history.revisions import UnreadableRevision, pass_of
from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.records import dataclass, field, replace
from reconciler.page.links import Anchor, Links
from reconciler.page.lists import called
from reconciler.page.matrix import MatrixQuery, matrix_view
from reconciler.page.timeline import (
    MOST_MOVES,
    FoundCommit,
    PassStep,
    TimelineView,
    drawn,
    moved_objects,
    passes_picture,
)
from reconciler.shell.git.history import cut_off

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.audit.history.moves import ObjectMoves
    from reconciler.audit.history.revisions import Commit, FileChange, Lineage
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.reading.revisions import GitRevisions


WINDOW = 20  # passes on one slider


@dataclass(slots=True, eq=False)
class PassLine:
    """The passes that lead to a commit.

    Attributes:
        revisions: The history of the repository.
        head: Full hex id of the commit.
        world: Its files.
        links: Where views lead.
        history: What the newest commits moved; it was followed to this one.
        known: Steps that were made before, by commit.
    """

    revisions: "GitRevisions"
    head: str
    world: "World"
    links: Links
    history: "HistoryIndex"
    known: dict[str, PassStep]

    def newest(self, count: int) -> list[PassStep]:
        """Return the newest passes with what they moved, the newest first."""
        return [self._step(commit) for commit in self._passes("", count)]

    def commits(self) -> list[FoundCommit]:
        """Return the newest commits, the newest first."""
        return [
            FoundCommit(
                revision=commit.revision,
                at=commit.committed_at,
                subject=commit.subject,
                author=commit.author,
                is_pass=pass_of(commit) is not None,
            )
            for commit in self.history.commits
        ]

    def window(self, newest: str, count: int) -> list[PassStep]:
        """Return passes with what they moved, the oldest first, back from a commit."""
        return [self._step(commit) for commit in reversed(self._passes(newest, count))]

    def view(
        self,
        *,
        at: str = "",
        newest: str = "",
        step: str = "",
        since: str = "",
        regions: Mapping[str, str],
        unknown: str = "",
    ) -> TimelineView:
        """Return the fleet at a pass, and what was moved.

        Args:
            at: Full hex id of the pass that is shown.
            newest: That of the newest one on the slider, `""` for the head.
            step: Which one on the slider is shown, counted from 0.
            since: Full hex id of a commit that it is compared with.
            regions: Cluster to its region.
            unknown: Why no fleet is read that differs in many files, `""` if any is.

        Raises:
            UsageError: One of them is none of this history.
        """
        for name, revision in (("at", at), ("newest", newest), ("since", since)):
            self.check(name, revision)
        start = newest or self.head
        steps = self.window(start, WINDOW)
        if at and at not in (one.revision for one in steps):
            start, steps = at, self.window(at, WINDOW)
        if not steps:
            return TimelineView(steps=(), chosen=0)
        chosen = _chosen(steps, at, step)
        here = steps[chosen]
        older = self._passes(steps[0].revision, 2)[1:]
        view = TimelineView(
            steps=steps,
            chosen=chosen,
            moves=passes_picture(steps, chosen),
            earlier=self._window_at(older[0].revision, "older passes") if older else None,
            later=self._window_at("", "newest passes") if start != self.head else None,
            newest=start,
        )
        far = (
            start != self.head
            or bool(since)
            or any(one.rest is None for one in steps[chosen + 1 :])
        )
        if unknown and far:
            return replace(view, note=unknown)
        then = self._world(here.revision)
        return replace(
            view,
            then=matrix_view(then, PlacedObjects(then), MatrixQuery(), self.links, regions=regions),
            compared=self._compared(since, here, then) if since else None,
        )

    def check(self, name: str, revision: str) -> None:
        """Refuse what is neither `""` nor a commit of the branch.

        Raises:
            UsageError: It is none; `name` is how the address calls it.
        """
        if not revision or any(one.revision == revision for one in self.history.commits):
            return
        if revision not in self.revisions.lineage(self.head, whole=False).revisions:
            raise UsageError(f"{name} must be a commit of this branch, as a full hex id")

    def _window_at(self, newest: str, text: str) -> Anchor:
        return Anchor(text, self.links.view("timeline", newest=newest))

    def _compared(self, since: str, here: PassStep, after: "World") -> tuple[PassStep, PassStep]:
        """Return two passes, the later one with all that moved in between."""
        commit = self.revisions.commit_at(since)
        before = self._world(since)
        first, last = (self._bare(commit), here)
        changed = changed_owners(after, before)  # the rest is where it was
        earlier, later = (
            {key: differing[key] for key in changed if key in differing}
            for differing in (PlacedObjects(before), PlacedObjects(after))
        )
        if first.at > last.at:
            first, last, earlier, later = last, first, later, earlier
        differing = differences(earlier, later)
        return first, self._moving(last, differing)

    def _world(self, revision: str) -> "World":
        world = self.revisions.world_at(revision)
        if isinstance(world, UnreadableRevision):
            raise UsageError(world.reason)
        return world

    def _passes(self, newest: str, count: int) -> "list[Commit]":
        """Return the newest passes up to a commit, the newest first; `""` is the head."""
        passes = (one for one in self._up_to(newest) if pass_of(one) is not None)
        return list(islice(passes, count))

    def _up_to(self, newest: str) -> "Iterator[Commit]":
        """Yield the newest commits up to one, the newest first; older ones are read for it."""
        commits = self.history.commits
        ids = [one.revision for one in commits]
        at = ids.index(newest) if newest in ids else 0 if newest in ("", self.head) else None
        yield from () if at is None else commits[at:]
        if at is not None and len(commits) < MOST_COMMITS:
            return
        line = self.revisions.lineage(newest or self.head, whole=False)
        first = 0 if at is None else len(commits) - at
        for position in range(first, min(len(line.revisions), MOST_COMMITS)):
            yield line[position]

    def _bare(self, commit: "Commit") -> PassStep:
        """Return a pass without what it moved."""
        read = pass_of(commit)
        return PassStep(
            revision=commit.revision,
            at=commit.committed_at if read is None else read.at,
            subject=commit.subject,
            anchor=Anchor(commit.subject, self.links.view("timeline", at=commit.revision)),
        )

    def _step(self, commit: "Commit") -> PassStep:
        """Return a pass with what it moved."""
        step = self.known.get(commit.revision)
        if step is None or step.rest is None:
            moved = self.history.moves_of(commit).objects
            bare = self._bare(commit)
            step = (
                replace(bare, rest=None)
                if moved is None
                else self._moving(bare, tuple(moved.values()))
            )
            self.known[commit.revision] = step
        return step

    def _moving(self, step: PassStep, found: "Sequence[ObjectMoves]") -> PassStep:
        """Return a step with what was moved."""
        shown = found[:MOST_MOVES]
        names: dict[ObjectKey, str] = {one.key: called(named(self.world, one.key)) for one in shown}
        moved, rest = moved_objects(found, names, self.links)
        return replace(step, moved=moved, rest=rest, every=tuple(found), drawing=drawn(found))


def _chosen(steps: Sequence[PassStep], at: str, step: str) -> int:
    """Return which step is shown: the one that is named, or the newest."""
    if at:
        return next(i for i, one in enumerate(steps) if one.revision == at)
    number = int(step) if step.isdecimal() and len(step) < 6 else len(steps) - 1
    return min(number, len(steps) - 1)


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
        moves = self._moves.get(commit.revision)
        if moves is None:
            moves = _counted(commit, self._read_moves(commit))
            if moves.objects is not None:  # else it is read later, in pieces
                self._moves[commit.revision] = moves
        return moves

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
            revisions = {commit.revision for commit in self.commits}
            self._moves = {name: one for name, one in self._moves.items() if name in revisions}

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
        pieces: list[ObjectMoves] | None = None
        try:
            changes = self._changes(commit, MORE_BLOBS)
            if changes is not None:
                pieces = []
                for piece in pieces_of(changes, self.revisions.layout, self.piece):
                    pieces += self._told(piece)
                    yield
        except ReconcilerError:
            pieces = None
        ordered = None if pieces is None else sorted(pieces, key=lambda one: one.key)
        self._moves[commit.revision] = _counted(commit, ordered)

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
