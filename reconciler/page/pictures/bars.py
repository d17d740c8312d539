"""What came and what left, slot by slot: bars up and down from one axis.

Shapes are in a field of 100 by 100 that is stretched to whatever width there is; what is written
beside it is no part of it, so it is as large in a narrow window as in a wide one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

FIELD = 100.0
SMALLEST = 3.0  # of the field: what is there is seen beside what is a thousand times as much
FILLED = 0.78  # of a slot
WIDEST = 6.0  # of the field: few bars are no wider than many


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One slot: what it is called and says, how many parts came and left, where it leads.

    `unknown` is how many commits are not known in it, `is_here` whether it is the one shown.
    """

    label: str
    says: str
    came: int = 0
    left: int = 0
    href: str = ""
    unknown: int = 0
    is_here: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell of it."""
        return not (self.came or self.left or self.unknown)


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
        most_came: What the highest bar stands for.
        most_left: What the lowest one stands for.
        labels: What stands below it, from left to right.
        note: What must be said besides, `""` for nothing.
        unit: What a slot is, as the head of a column.
    """

    title: str
    says: str
    slots: Sequence[BarSlot]
    axis: float
    most_came: int
    most_left: int
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
        most_came=up,
        most_left=down,
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
        return "nothing moved"
    most = max(slots, key=lambda one: one.came + one.left)
    return f"{came} came and {left} left in all; most at {most.label}: {most.says}"


def moved_words(came: int, left: int, unknown: int) -> str:
    """Return what happened in a slot, in words."""
    said = [f"{came} came, {left} left"] if came or left else []
    said += [f"{unknown} with too many files to be read"] if unknown else []
    return "; ".join(said) or "nothing moved"
