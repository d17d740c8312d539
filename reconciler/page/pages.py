"""Long lists in pages: which part is shown, and where the others are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from reconciler.page.links import Anchor

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """One page of a list.

    Attributes:
        items: What is on it.
        first: The number of the first item, from 1; 0 of an empty list.
        total: How many items there are on all pages.
        earlier: The page before, `None` on the first one.
        later: The page behind, `None` on the last one.
    """

    items: Sequence[T]
    first: int
    total: int
    earlier: Anchor | None = None
    later: Anchor | None = None

    def of(self, items: Sequence[U]) -> "Page[U]":
        """Return the page with other things in the place of its items."""
        return Page(
            items=items,
            first=self.first,
            total=self.total,
            earlier=self.earlier,
            later=self.later,
        )


def page_of(items: Sequence[T], number: int, size: int, link: Callable[[int], str]) -> Page[T]:
    """Return one page of a list; a number beyond its end is the last page.

    Args:
        items: All that there are.
        number: Which page, from 1.
        size: How many items a page has.
        link: Returns where another page is, `""` where it is nowhere.
    """
    last = max(1, -(-len(items) // size))
    number = min(max(number, 1), last)
    start = (number - 1) * size

    def anchor(text: str, target: int) -> Anchor | None:
        href = link(target) if 1 <= target <= last else ""
        return Anchor(text, href) if href else None

    return Page(
        items=items[start : start + size],
        first=start + 1 if items else 0,
        total=len(items),
        earlier=anchor("earlier", number - 1),
        later=anchor("more", number + 1),
    )
