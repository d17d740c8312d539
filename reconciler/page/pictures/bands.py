"""What there was over time: one band a cluster, on top of each other, in steps.

The field is that of `bars`; a step begins at the moment of the commit that made it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.page.pictures.bars import FIELD

MOST = 5  # bands; what is less is one of its own
OTHERS = "others"
TAIL = 4  # how many times as long as the changes took is shown of the time since the last one


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
        most: What the top of the field stands for.
        begins: The moment at its left edge.
        ends: That at its right edge; what is then has not changed up to now.
        steps: The changes, the newest first.
        names: The heads of the columns of numbers.
        note: What must be said besides, `""` for nothing.
    """

    title: str
    says: str
    bands: Sequence[Band]
    most: int
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
        most=most,
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
    told = (f"{x:g},{round(FIELD * (1 - y / (most or 1)), 2):g}" for x, y in points)
    return f"M{' '.join(told)}Z"
