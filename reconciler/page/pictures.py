"""The pictures of the past: moves for each hour, and replicas over time.

Bars go up and down from one axis: what came and what left, slot by slot. Bands lie on top of each
other, one for each cluster, in steps; a step begins at the moment of the commit that made it.
Shapes are in a field of 100 by 100 that is stretched to whatever width there is; what is written
beside it is no part of it, so it is as large in a narrow window as in a wide one.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from reconciler.audit.fleet.usage import Usage
from reconciler.audit.history.moves import (
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
from reconciler.model.records import dataclass
from reconciler.page.links import Links

MOST = 5  # bands; what is less is one of its own
OTHERS = "others"
TAIL = 4  # how many times as long as the changes took is shown of the time since the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark of the upright axis: how far from the top of the field, and what it stands for.

    `label` is how far from the top its number stands, where the field is 120 high.
    """

    y: float
    text: str

    @property
    def label(self) -> float:
        """Where its number stands, so that none is cut off."""
        return round(min(max(self.y * 1.2 + 4, 10), 118), 2)


LEAST_APART = 14.0  # of the field: numbers that are closer would cover each other


def _ticks(marks: Sequence[tuple[float, int]]) -> list[Tick]:
    """Return ticks, but for those that are too close to one before them."""
    ticks: list[Tick] = []
    for y, count in marks:
        if all(abs(y - one.y) >= LEAST_APART for one in ticks):
            ticks.append(Tick(y=y, text=str(count)))
    return ticks


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedParts:
    """What there was from a moment on, and what must be said of it; `href` is where it is told."""

    at: datetime
    parts: Mapping[str, int]
    href: str = ""

    @property
    def total(self) -> int:
        """All of it together."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One band: its name, how many there are now, how it looks, its outline in the field."""

    name: str
    now: int
    look: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BandPicture:
    """The picture.

    Attributes:
        title: What it shows.
        says: The same as its shapes, in a sentence.
        bands: From the bottom up.
        ticks: Of the upright axis.
        begins: The moment at its left edge.
        ends: That at its right edge; what is then has not changed up to now.
        steps: The changes, the newest first.
        names: The heads of the columns of numbers.
        note: What must be said besides, `""` for nothing.
    """

    title: str
    says: str
    bands: Sequence[Band]
    ticks: Sequence[Tick]
    begins: datetime
    ends: datetime
    steps: Sequence[SteppedParts]
    names: Sequence[str]
    note: str = ""


def band_picture(
    first: SteppedParts, steps: Sequence[SteppedParts], now: datetime, *, title: str, note: str = ""
) -> BandPicture:
    """Return the picture.

    Args:
        first: What there was before the first change, from the oldest moment that is known.
        steps: The changes, the oldest first, at least one.
        now: The moment up to which nothing changed after the last one.
        title: What it shows.
        note: What must be said besides.
    """
    names = _names((first, *steps))
    last = steps[-1].at
    length = last - steps[0].at
    begins = max(first.at, steps[0].at - (length or (now - last)) / TAIL)
    ends = min(now, last + length * TAIL) if length else now
    ends = max(ends, last)
    shown = [SteppedParts(at=begins, parts=first.parts), *steps]
    columns = [[_part(step, name, names) for name in names] for step in shown]
    most = max(sum(column) for column in columns)
    xs = [_x(step.at, begins, ends) for step in shown]
    return BandPicture(
        title=title,
        says=f"from {first.total} to {steps[-1].total} in {_times(len(steps))}, {most} at most",
        bands=[
            Band(
                name=name,
                now=columns[-1][number],
                look=f"band-{number + 1}" if name != OTHERS else "band-0",
                path=_outline(
                    xs,
                    [sum(column[:number]) for column in columns],
                    [sum(column[: number + 1]) for column in columns],
                    most,
                ),
            )
            for number, name in enumerate(names)
        ],
        ticks=_ticks([(FIELD, 0), (0.0, most), *([] if most % 2 else [(FIELD / 2, most // 2)])]),
        begins=begins,
        ends=ends,
        steps=steps[::-1],
        names=names,
        note=note,
    )


def parts_shown(step: SteppedParts, names: Sequence[str]) -> list[int]:
    """Return the numbers of a step, one for each name."""
    return [_part(step, name, names) for name in names]


def _times(count: int) -> str:
    return f"{count} change{'s' if count != 1 else ''}"


def _names(steps: Sequence[SteppedParts]) -> list[str]:
    """Return what has a band of its own: what had most at any time, sorted; the rest is one."""
    most: dict[str, int] = {}
    for step in steps:
        for name, count in step.parts.items():
            most[name] = max(most.get(name, 0), count)
    first = sorted(most, key=lambda name: (-most[name], name))[:MOST]
    return [*sorted(first), *([OTHERS] if len(most) > MOST else [])]


def _part(step: SteppedParts, name: str, names: Sequence[str]) -> int:
    """Return what one band has at a step."""
    if name == OTHERS:
        return sum(count for one, count in step.parts.items() if one not in names)
    return step.parts.get(name, 0)


def _x(at: datetime, begins: datetime, ends: datetime) -> float:
    """Return where a moment stands."""
    length = (ends - begins).total_seconds()
    return round(FIELD * (at - begins).total_seconds() / length, 2) if length else 0.0


def _outline(xs: Sequence[float], low: Sequence[int], high: Sequence[int], most: int) -> str:
    """Return the outline of a band: its upper edge to the right, its lower one back."""
    ends = [*xs[1:], FIELD]
    upper = [p for x, to, y in zip(xs, ends, high, strict=True) for p in ((x, y), (to, y))]
    lower = [p for x, to, y in zip(xs, ends, low, strict=True) for p in ((x, y), (to, y))]
    points = [*upper, *reversed(lower)]
    points_text = (f"{x:g},{round(FIELD * (1 - y / (most or 1)), 2):g}" for x, y in points)
    return f"M{' '.join(points_text)}Z"


FIELD = 100.0
SMALLEST = 3.0  # of the field: what is there is seen beside what is a thousand times as much
FILLED = 0.78  # of a slot
WIDEST = 6.0  # of the field: few bars are no wider than many


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One slot: what it is called and says, how many replicas came and left, where it leads.

    `apart` is how many copies moved of what has no replicas, `unknown` how many commits are not
    known in it, `is_here` whether it is the one shown.
    """

    label: str
    says: str
    came: int = 0
    left: int = 0
    href: str = ""
    unknown: int = 0
    apart: int = 0
    is_here: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell of it."""
        return not (self.came or self.left or self.unknown or self.apart)


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle in the field."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BarSlot:
    """A slot with its shapes: the whole of it, what came and what left, `None` for nothing."""

    slot: Slot
    whole: Shape
    up: Shape | None
    down: Shape | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPicture:
    """The picture.

    Attributes:
        title: What it shows.
        says: The same as its shapes, in a sentence.
        slots: From left to right.
        axis: How far from the top the axis is.
        ticks: Of the upright axis: what the highest and the lowest bar stand for.
        labels: What stands below it, from left to right.
        note: What must be said besides, `""` for nothing.
        unit: What a slot is, as the head of a column.
    """

    title: str
    says: str
    slots: Sequence[BarSlot]
    axis: float
    ticks: Sequence[Tick]
    labels: Sequence[str]
    unit: str
    note: str = ""

    @property
    def told(self) -> Sequence[Slot]:
        """The slots of which there is something to tell, the newest first."""
        return [one.slot for one in reversed(self.slots) if not one.slot.is_empty]


def bar_picture(
    slots: Sequence[Slot], *, title: str, labels: Sequence[str], unit: str, note: str = ""
) -> BarPicture:
    """Return the picture.

    Args:
        slots: From left to right, at least one.
        title: What it shows.
        labels: What stands below it, from left to right.
        unit: What a slot is.
        note: What must be said besides.
    """
    up, down = (max(getattr(one, side) for one in slots) for side in ("came", "left"))
    axis = round(FIELD * up / (up + down), 2) if up + down else FIELD
    width = FIELD / len(slots)
    return BarPicture(
        title=title,
        says=_says(slots),
        slots=[
            BarSlot(
                slot=one,
                whole=Shape(round(at * width, 2), 0, round(width, 2), FIELD),
                up=_bar(at, width, one.came, up, axis, is_up=True),
                down=_bar(at, width, one.left, down, axis, is_up=False),
            )
            for at, one in enumerate(slots)
        ],
        axis=axis,
        ticks=_ticks([(axis, 0), *([(0.0, up)] if up else []), *([(FIELD, down)] if down else [])]),
        labels=labels,
        unit=unit,
        note=note,
    )


def _bar(at: int, width: float, count: int, most: int, axis: float, *, is_up: bool) -> Shape | None:
    """Return a bar, `None` if nothing is to be shown."""
    if not count:
        return None
    room = axis if is_up else FIELD - axis
    height = round(max(room * count / most, min(room, SMALLEST)), 2)
    filled = round(min(width * FILLED, WIDEST), 2)
    x = round(width * at + (width - filled) / 2, 2)
    return Shape(x, round(axis - height, 2) if is_up else axis, filled, height)


def _says(slots: Sequence[Slot]) -> str:
    """Return what the picture shows, in a sentence."""
    came, left = (sum(getattr(one, side) for one in slots) for side in ("came", "left"))
    if not came and not left:
        return "no replica moved"
    most = max(slots, key=lambda one: one.came + one.left)
    return f"{came} replicas came and {left} left in all; most at {most.label}: {most.says}"


def moved_words(came: int, left: int, apart: int, unknown: int) -> str:
    """Return what happened in a slot, in words.

    >>> moved_words(4, 2, 3, 0), moved_words(0, 0, 0, 0)
    ('4 replicas came, 2 left; 3 copies of objects without replicas', 'nothing moved')
    """
    said = [f"{came} replicas came, {left} left"] if came or left else []
    copies = "1 copy" if apart == 1 else f"{apart} copies"
    said += [f"{copies} of objects without replicas"] if apart else []
    said += [f"{unknown} with too many files to be read"] if unknown else []
    return "; ".join(said) or "nothing moved"


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
                says=moved_words(one.came, one.left, one.apart, one.unknown),
                came=one.came,
                left=one.left,
                unknown=one.unknown,
                apart=one.apart,
                href=self.links.view("timeline", at=one.newest) if one.newest else "",
            )
            for one in hours
        ]
        return bar_picture(
            slots,
            title="Moves per hour",
            labels=(*(one.label for one in slots[:-1:6]), f"{slots[-1].label} UTC"),
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
        series, in_replicas = cluster_over_time(usage.key.name, now, self.found)
        return self._bands(series, f"{'Replicas' if in_replicas else 'Objects'} over time")

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
