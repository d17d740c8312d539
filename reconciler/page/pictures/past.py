"""The pictures of the past: moves per hour, replicas over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from reconciler.audit.fleet.usage import Usage
from reconciler.audit.history.moves_over_time import (
    ClusterMoves,
    CommitMoves,
    OverTime,
    cluster_over_time,
    moves_by_hour,
    object_over_time,
)
from reconciler.audit.previews.placement_moves import PlacementMove
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.page.links import Links
from reconciler.page.pictures.bands import BandPicture, SteppedParts, band_picture
from reconciler.page.pictures.bars import BarPicture, Slot, bar_picture, moved_words

HOURS = 24
MOST_MOVES = 8  # of one object that are listed
UNREAD = "the older past is being read"


class MovedThen(NamedTuple):
    """What one commit moved of one object: full hex id, moment, cluster by cluster."""

    revision: str
    at: datetime
    moves: Sequence[PlacementMove]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the newest commits moved.

    Attributes:
        found: They, the newest first.
        is_whole: Whether there are no older ones.
        is_reading: Whether older ones are being read.
        now: The moment up to which the pictures go.
        links: Where they lead.
    """

    found: Sequence[CommitMoves]
    is_whole: bool
    is_reading: bool
    now: datetime
    links: Links

    @property
    def reading(self) -> str:
        """That older commits are being read, `""` if they are not."""
        return UNREAD if self.is_reading else ""

    def _note(self, begins: datetime) -> str:
        """Return what must be said of a picture that begins at a moment, `""` if it is whole."""
        oldest = self.found[-1].at if self.found else self.now
        if self.is_whole or oldest <= begins:
            return ""
        return self.reading or f"told since {format_moment(oldest)}, of the newest commits"

    def by_hour(self, cluster: str = "") -> BarPicture:
        """Return what moved in the last hours, on one cluster or, for `""`, on all."""
        hours = moves_by_hour(self.found, self.now, HOURS, cluster)
        slots = [
            Slot(
                label=f"{one.begins:%H}:00",
                says=moved_words(one.came, one.left, one.unknown),
                came=one.came,
                left=one.left,
                unknown=one.unknown,
                href=self.links.view("timeline", at=one.newest) if one.newest else "",
            )
            for one in hours
        ]
        return bar_picture(
            slots,
            title="Moves per hour",
            labels=(slots[0].label, slots[len(slots) // 2].label, f"{slots[-1].label} UTC"),
            unit="hour",
            note=self._note(hours[0].begins),
        )

    def of_object(self, key: ObjectKey, placed: Placed) -> BandPicture | None:
        """Return where an object was; `None` where it did not move within what is known.

        Args:
            key: What decisions about the object bear.
            placed: Where it is now.
        """
        return self._bands(object_over_time(key, placed, self.found), "Replicas over time")

    def moves_of(self, key: ObjectKey) -> Sequence[MovedThen]:
        """Return the newest moves of an object, the newest first."""
        moved = (
            MovedThen(one.revision, one.at, one.objects[key].moves)
            for one in self.found
            if one.objects is not None and key in one.objects
        )
        return list(islice(moved, MOST_MOVES))

    def of_cluster(self, usage: Usage) -> BandPicture | None:
        """Return what was on a cluster: replicas, or objects where none has replicas to count."""
        now = ClusterMoves(replicas=usage.replicas, objects=usage.objects)
        told, in_replicas = cluster_over_time(usage.key.name, now, self.found)
        return self._bands(told, f"{'Replicas' if in_replicas else 'Objects'} over time")

    def _bands(self, told: OverTime, title: str) -> BandPicture | None:
        if not told.steps or told.since is None:
            return None
        steps = [
            SteppedParts(
                at=one.at, parts=one.parts, href=self.links.view("timeline", at=one.revision)
            )
            for one in told.steps
        ]
        since = min(told.since, steps[0].at)
        first = SteppedParts(at=since, parts=told.before)
        return band_picture(first, steps, self.now, title=title, note=self.reading)
