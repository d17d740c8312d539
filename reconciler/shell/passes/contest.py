"""A guard against loops: another bot that undoes what passes write, again and again.

It is memory, not state: a process that was just started begins to count anew, so the worst is a few
more commits. Nothing that a pass decides depends on it.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from reconciler.core.changes import Outcome, WriteFile
from reconciler.manifests.paths import FAULTS, RECORD, blob_id, output_path
from reconciler.model.moments import add
from reconciler.model.world import World

MOST_UNDONE = 4  # times within the hour; a person who reverts twice is none to hold against
HOUR = timedelta(hours=1)
REMEMBERED = 10_000  # files of the passes of an hour


@dataclass(frozen=True, slots=True)
class Contested:
    """Files that others undo again and again, sorted, and when they are written again."""

    paths: tuple[str, ...]
    until: datetime


@dataclass(slots=True, eq=False)
class Contest:
    """What passes wrote within the hour, and how often that was undone."""

    _written: dict[str, tuple[str | None, datetime]] = field(default_factory=dict)
    _undone: dict[str, tuple[datetime, ...]] = field(default_factory=dict)

    def fought_over(self, world: World, outcome: Outcome, now: datetime) -> Contested | None:
        """Return the files of an outcome that were undone too often, if it is about no others.

        Anything else that is decided is published at once, with them.
        """
        alone = {output_path(world.output_root, key) for key in (RECORD, FAULTS)}
        paths = sorted({change.path for change in outcome.files} - alone)
        moments = [self._within_hour(path, now) for path in paths]
        if not paths or any(len(one) < MOST_UNDONE for one in moments):
            return None
        return Contested(tuple(paths), max(add(one[-MOST_UNDONE], HOUR) for one in moments))

    def wrote(self, world: World, outcome: Outcome, now: datetime) -> None:
        """Remember what a pass published."""
        for change in outcome.files[-REMEMBERED:]:
            if self._is_undone(change.path, world):
                self._undone[change.path] = (*self._within_hour(change.path, now), now)
            blob = None
            if isinstance(change, WriteFile):
                blob = blob_id(change.content.encode(), like=world.revision)
            self._written.pop(change.path, None)
            self._written[change.path] = (blob, now)
        self._forget(now)

    def _is_undone(self, path: str, world: World) -> bool:
        """Return whether somebody changed a file after a pass wrote it."""
        present = world.present.get(path) or world.delivered.get(path)
        return path in self._written and self._written[path][0] != present

    def _within_hour(self, path: str, now: datetime) -> tuple[datetime, ...]:
        """Return when a file was written again, since somebody had undone it."""
        return tuple(one for one in self._undone.get(path, ()) if add(one, HOUR) > now)

    def _forget(self, now: datetime) -> None:
        """Forget what is older than an hour, and the oldest of very much."""
        old = [path for path, (_, at) in self._written.items() if add(at, HOUR) <= now]
        for path in [*old, *list(self._written)[: max(0, len(self._written) - REMEMBERED)]]:
            self._written.pop(path, None)
            self._undone.pop(path, None)
