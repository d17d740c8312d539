"""The last commits with nothing left to do, and the last whose copies were counted.

They are kept from question to question, for each repository. Whatever is wrong with the table costs
time, never an answer: without it whole passes are asked.
"""

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from reconciler.audit.fleet.copy_counts import CopyCounts, CountedWorld, is_final
from reconciler.core.asked import SettledWorld, is_settled_after
from reconciler.core.changes import Outcome
from reconciler.core.record import next_moment
from reconciler.errors import ReconcilerError
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.world import World
from reconciler.shell.reading.kept import KeptNote
from reconciler.shell.reading.load import Loader

SETTLED_NAME = "settled.db"
FEW = 500  # ours: a pass over fewer objects is asked as soon
SETTLED_ENTRY = re.compile(
    r"([0-9a-f]{40}(?:[0-9a-f]{24})?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)", re.ASCII
)


class KeptCommit(NamedTuple):
    """A commit as full hex id, and the moment from which on nothing moves in it."""

    revision: str
    at: datetime


class SettledCommits:
    """One commit in which nothing moves from its last pass on, and one in which a pass found so.

    Most questions are about the moments after a last pass. A later pass that changes nothing says
    nothing of these, so it never takes the place of what is known of them.
    """

    def __init__(self, folder: Path, build: Callable[[], str], place: str) -> None:
        """Remember where they are kept; see `KeptNote`."""
        self._note = KeptNote(folder, SETTLED_NAME, build, place)

    def load(self, loader: Loader, *, of_present: bool = False) -> SettledWorld | None:
        """Return the world of a commit, `None` if none is known, or it is gone.

        Args:
            loader: Reads it.
            of_present: Whether the question is about the present, so that what was found last
                serves; else it is about the moments after a last pass.
        """
        kept = self._read()
        if not kept:
            return None
        revision, at = kept[-1 if of_present else 0]
        try:
            return SettledWorld(world=loader.load(revision), at=at)
        except ReconcilerError:  # such as what the commit needs is lost
            return None

    def keep(self, world: World, revision: str, outcome: Outcome, now: datetime) -> None:
        """Keep a commit, if nothing is left to do in it.

        Args:
            world: That a pass found.
            revision: Full hex id of the commit that has what the pass decided, too.
            outcome: Of the pass.
            now: Its moment.
        """
        objects = len(world.inputs) + len(world.outputs) + len(outcome.changes)
        if objects < FEW or world.apart or not is_settled_after(outcome):
            return
        kept = [KeptCommit(revision, now)]
        since_its_last_pass = outcome.changes or now <= next_moment(world, now)
        if not since_its_last_pass:
            first = self._read()[:1]
            if first and first[0].revision == revision:
                return
            kept = first + kept
        self._note.write([f"{commit.revision} {format_moment(commit.at)}" for commit in kept])

    def _read(self) -> list[KeptCommit]:
        """Return what is kept: that which serves the earlier moments first."""
        entries = [SETTLED_ENTRY.fullmatch(line) for line in self._note.read()]
        try:
            return [KeptCommit(one[1], parse_moment(one[2])) for one in entries if one is not None]
        except ValueError:
            return []


COUNTED_NAME = "counted.db"
COUNTED_ENTRY = re.compile(
    r"([0-9a-f]{40}(?:[0-9a-f]{24})?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)((?: \d{1,12}){6})",
    re.ASCII,
)


class CountedCommits:
    """One commit, the moment of the question, and the counts, which no later moment changes."""

    def __init__(self, folder: Path, build: Callable[[], str], place: str) -> None:
        """Remember where they are kept; see `KeptNote`."""
        self._note = KeptNote(folder, COUNTED_NAME, build, place)

    def load(self, loader: Loader) -> CountedWorld | None:
        """Return the world of the commit with its counts, `None` if none is known or it is gone."""
        entry = COUNTED_ENTRY.fullmatch("\n".join(self._note.read()))
        if entry is None:
            return None
        counts = CopyCounts(*map(int, entry[3].split()))
        try:
            at = parse_moment(entry[2])
            return CountedWorld(world=loader.load(entry[1]), counts=counts, at=at)
        except (ReconcilerError, ValueError):  # such as what the commit needs is lost
            return None

    def keep(self, world: World, revision: str, counts: CopyCounts, now: datetime) -> None:
        """Keep what was counted, if time alone brings no other count.

        Args:
            world: That was counted.
            revision: Full hex id of its commit.
            counts: Of its copies.
            now: The moment of the question.
        """
        if len(world.outputs) < FEW or world.apart or not is_final(world, counts):
            return
        self._note.write([" ".join((revision, format_moment(now), *map(str, counts)))])
