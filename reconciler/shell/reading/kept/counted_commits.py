"""The last commit of a repository whose copies were counted, kept from question to question."""

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from reconciler.audit.fleet.copy_counts import CopyCounts, CountedWorld, is_final
from reconciler.errors import ReconcilerError
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.world import World
from reconciler.shell.reading.kept.kept_note import KeptNote
from reconciler.shell.reading.load import Loader

NAME = "counted.db"
FEW = 500  # ours: copies of fewer objects are counted as soon
ENTRY = re.compile(
    r"([0-9a-f]{40}(?:[0-9a-f]{24})?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)((?: \d{1,12}){5})",
    re.ASCII,
)


class CountedCommits:
    """One commit, the moment of the question, and the counts, which no later moment changes."""

    def __init__(self, folder: Path, build: Callable[[], str], place: str) -> None:
        """Remember where they are kept; see `KeptNote`."""
        self._note = KeptNote(folder, NAME, build, place)

    def load(self, loader: Loader) -> CountedWorld | None:
        """Return the world of the commit with its counts, `None` if none is known or it is gone."""
        found = ENTRY.fullmatch("\n".join(self._note.read()))
        if found is None:
            return None
        healthy, unhealthy, unjudged, assumed, silent = map(int, found[3].split())
        counts = CopyCounts(
            healthy=healthy, unhealthy=unhealthy, unjudged=unjudged, assumed=assumed, silent=silent
        )
        try:
            at = parse_moment(found[2])
            return CountedWorld(world=loader.load(found[1]), counts=counts, at=at)
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
        numbers = counts.healthy, counts.unhealthy, counts.unjudged, counts.assumed, counts.silent
        self._note.write([" ".join((revision, format_moment(now), *map(str, numbers)))])
