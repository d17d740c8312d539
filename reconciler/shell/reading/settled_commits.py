"""The last commit of a repository in which nothing was left to do, kept from question to question.

Whatever is wrong with the table costs time, never an answer: without it whole passes are asked.
"""

import hashlib
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from reconciler.core.asked.affected_objects import SettledWorld, is_settled_after
from reconciler.core.changes import Outcome
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.world import World
from reconciler.shell.git.errors import GitError
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.optional_table import OptionalTable

NAME = "settled.db"
FEW = 500  # ours: a pass over fewer objects is asked as soon
MOST_BYTES = 1 << 20  # ours: an entry has a hundred bytes
ENTRY = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)", re.ASCII)


class SettledCommits:
    """The commit, and the moment from which on nothing moves in it, as the same build saw it."""

    def __init__(self, folder: Path, build: Callable[[], str], place: str) -> None:
        """Remember where it is kept.

        Args:
            folder: Ours alone; made if absent.
            build: Returns what stands for the code that decides: other code, another entry.
            place: The repository, the root in it, and where passes write.
        """
        self._table = OptionalTable(folder, NAME, most_bytes=MOST_BYTES)
        self._build = build
        self._place = place

    def load(self, loader: Loader) -> SettledWorld | None:
        """Return the world of the commit, `None` if none is known, or it is gone."""
        key = self._key()
        found = ENTRY.fullmatch(self._opened().read([key]).get(key, ""))
        if found is None:
            return None
        try:
            return SettledWorld(world=loader.load(found[1]), at=parse_moment(found[2]))
        except (GitError, ValueError):
            return None

    def keep(self, world: World, revision: str, outcome: Outcome, now: datetime) -> None:
        """Keep a commit instead of the last one, if nothing is left to do in it.

        Args:
            world: That a pass found.
            revision: Full hex id of the commit that has what the pass decided, too.
            outcome: Of the pass.
            now: Its moment.
        """
        large = len(world.inputs) + len(world.outputs) >= FEW
        if large and not world.apart and is_settled_after(outcome):
            entry = f"{revision} {format_moment(now)}"
            self._opened().write([(self._key(), entry)])

    def _opened(self) -> OptionalTable:
        """Return the table, opened."""
        if not self._table.is_open:
            self._table.open()
        return self._table

    def _key(self) -> bytes:
        """Return what the commit is filed under."""
        said = f"{self._build()}\0{self._place}".encode(errors="surrogateescape")
        return hashlib.blake2b(said, digest_size=16).digest()
