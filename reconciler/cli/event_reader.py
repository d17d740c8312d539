"""Events of the commits that are asked for, a piece of the history at a time."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.audit.history.events import Happening
    from reconciler.audit.history.revisions import Commit
    from reconciler.audit.replay import Replay
    from reconciler.core.changes import Outcome
    from reconciler.model.identity import ObjectKey
    from reconciler.shell.reading.revisions import GitRevisions


PIECE = 64  # commits whose files are read together
TYPES = ("Normal", "Warning")


class EventReader:
    """Reads events of commits that are asked for."""

    def __init__(
        self,
        revisions: "GitRevisions",
        key: "ObjectKey | None",
        *,
        types: "Collection[str]" = TYPES,
        namespace: str | None = None,
        since: "datetime | None" = None,
        replay: "Replay | None" = None,
    ) -> None:
        from reconciler.audit.replay import Replay

        self.repository = revisions.repository
        self._revisions = revisions
        self._replay = replay or Replay(revisions)
        self._key = key
        self._types = types
        self._namespace = namespace
        self._since = since
        self._names: set[str] = set()

    def read(self, head: str, after: str | None, limit: int = 0) -> "tuple[list[Happening], bool]":
        """Return the newest events, the newest last, and whether there are older ones.

        Args:
            head: Full hex id of the commit to begin at.
            after: One whose history is left out, `None` for none.
            limit: How many at most, 0 for all.
        """
        happenings: list[Happening] = []
        for happening in self._newest_first(head, after):
            if limit and len(happenings) == limit:
                return happenings[::-1], True
            happenings.append(happening)
        return happenings[::-1], False

    def _newest_first(self, head: str, after: str | None) -> "Iterator[Happening]":
        """Yield the events that are asked for."""
        from reconciler.audit.history.events import chronicle

        for commits in self._pieces(head, after):
            texts = self._texts(commits)
            for commit in commits:
                if self._since is not None and commit.committed_at < self._since:
                    return  # older ones follow
                changes = self._revisions.changes(commit)
                again = partial(self._again, commit)
                events = chronicle(
                    commit,
                    changes,
                    texts,
                    self._revisions.layout,
                    again,
                    names=self._names,
                    mentions="" if self._key is None else self._key.name,
                )
                yield from (event for event in reversed(events) if self._is_asked(event))

    def _again(self, commit: "Commit") -> "Outcome | None":
        """Compute a pass again, if its inputs and the outputs before it can be had."""
        from reconciler.audit.replay import Run
        from reconciler.core.dialects import PLACED

        key = self._key
        placed = key is not None and (key.group, key.kind) in PLACED
        run = self._replay.run_again(commit, key if placed else None)
        return run.outcome if isinstance(run, Run) else None

    def _is_asked(self, event: "Happening") -> bool:
        if event.told.type not in self._types:
            return False
        if self._namespace is not None and event.key.namespace != self._namespace:
            return False
        return self._key is None or event.key == self._key

    def _pieces(self, head: str, after: str | None) -> "Iterator[list[Commit]]":
        """Yield the commits in pieces, without those of which a shallow clone has half."""
        from reconciler.audit.history.revisions import pass_of
        from reconciler.shell.git.history import cut_off

        ends = cut_off(self.repository)
        commits = self._revisions.commits(head, but=after, paths=self._places(), whole=False)
        if any(commit.revision in ends for commit in commits):
            click.echo(
                "this clone is shallow; run git fetch --unshallow for older events", err=True
            )
        whole = [commit for commit in commits if commit.revision not in ends]
        self._names.update(commit.author for commit in whole if pass_of(commit) is not None)
        for start in range(0, len(whole), PIECE):
            piece = whole[start : start + PIECE]
            self._revisions.prepare(piece)
            yield piece

    def _places(self) -> "Sequence[str]":
        """Return where a commit changes something if it has events that are asked for."""
        from reconciler.audit.fleet.placed import places_of
        from reconciler.core.dialects import KINDS

        if self._key is None or (self._key.group, self._key.kind) in KINDS.removable:
            return [
                self._revisions.layout.output_root
            ]  # what is over may go without a trace among the outputs
        return places_of(self._key, self._revisions.layout)

    def _texts(self, commits: "Sequence[Commit]") -> dict[str, bytes]:
        """Return what the changed outputs held: of one object its own, and those beside if asked.

        A pass may have written those of all objects.
        """
        from reconciler.audit.history.events import asks_beside, needed

        revisions, places = self._revisions, self._places()
        changes = [revisions.changes(commit) for commit in commits]
        if revisions.layout.output_root in places:
            return revisions.texts(
                blob for one in changes for blob in needed(one, revisions.layout)
            )
        own = [
            [c for c in one if c.path in places or c.path.rpartition("/")[0] in places]
            for one in changes
        ]
        texts = revisions.texts(blob for one in own for blob in needed(one, revisions.layout))
        whole = [
            every
            for every, near in zip(changes, own, strict=True)
            if asks_beside(near, texts, revisions.layout)
        ]
        more = (blob for one in whole for blob in needed(one, revisions.layout))
        return texts | revisions.texts(blob for blob in more if blob not in texts)
