"""The passes of a branch as the page shows them: a window of its history, told by the index."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.placed_objects import PlacedObjects, changed_owners
from reconciler.audit.history.commit_moves import differences
from reconciler.audit.history.revisions import UnreadableRevision, pass_of
from reconciler.cli.page.history_index import MOST_COMMITS
from reconciler.errors import UsageError
from reconciler.page.chosen_objects import called
from reconciler.page.links import Anchor, Links
from reconciler.page.matrix import MatrixQuery, matrix_view
from reconciler.page.pictures.pass_bars import passes_picture
from reconciler.page.timeline import (
    MOST_MOVES,
    FoundCommit,
    PassStep,
    TimelineView,
    drawn,
    moved_objects,
)

if TYPE_CHECKING:
    from reconciler.audit.history.commit_moves import ObjectMoves
    from reconciler.audit.history.revisions import Commit
    from reconciler.cli.page.history_index import HistoryIndex
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
            {key: found[key] for key in changed if key in found}
            for found in (PlacedObjects(before), PlacedObjects(after))
        )
        if first.at > last.at:
            first, last, earlier, later = last, first, later, earlier
        found = differences(earlier, later)
        return first, self._moving(last, found)

    def _world(self, revision: str) -> "World":
        found = self.revisions.world_at(revision)
        if isinstance(found, UnreadableRevision):
            raise UsageError(found.reason)
        return found

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
        found = self.known.get(commit.revision)
        if found is None or found.rest is None:
            moved = self.history.moves_of(commit).objects
            bare = self._bare(commit)
            found = (
                replace(bare, rest=None)
                if moved is None
                else self._moving(bare, tuple(moved.values()))
            )
            self.known[commit.revision] = found
        return found

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
