"""Lists in the order of one of their columns, which is part of their address."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from reconciler.page.links import Anchor

T = TypeVar("T")
DOWN = "-"  # before the name of a column: the greatest first


@dataclass(frozen=True, slots=True, kw_only=True)
class SortColumn(Generic[T]):
    """A column: its title, by what it is sorted, and whether the greatest comes first."""

    title: str
    order: Callable[[T], object]
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class SortHead:
    """The head of a column: where its order is, and how it is sorted now (as `aria-sort`)."""

    anchor: Anchor
    sorted: str
    is_number: bool


def sorted_by(items: Sequence[T], columns: Mapping[str, SortColumn[T]], sort: str) -> Sequence[T]:
    """Return items in the order of a column; by no column of these they stay as they are."""
    column = columns.get(sort.removeprefix(DOWN))
    if column is None:
        return items
    return sorted(items, key=column.order, reverse=sort.startswith(DOWN))  # type: ignore[arg-type]


def heads_of(
    columns: Mapping[str, SortColumn[T]], sort: str, link: Callable[[str], str]
) -> Sequence[SortHead]:
    """Return the heads of columns; the one that counts leads to its opposite order."""
    return [
        SortHead(
            Anchor(column.title, link(_next(name, column.is_number, sort))),
            {name: "ascending", f"{DOWN}{name}": "descending"}.get(sort, ""),
            column.is_number,
        )
        for name, column in columns.items()
    ]


def _next(name: str, is_number: bool, sort: str) -> str:  # noqa: FBT001  # a column's own
    """Return the order that a click asks for: of numbers the greatest come first."""
    first, other = (f"{DOWN}{name}", name) if is_number else (name, f"{DOWN}{name}")
    return other if sort == first else first
