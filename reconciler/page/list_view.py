"""Lists that are filtered, sorted and paged by their address, whatever their rows are of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from reconciler.page.links import Anchor, Links
from reconciler.page.pages import Page, page_of
from reconciler.page.sorting import SortColumn, SortHead, heads_of, sorted_by

SIZE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What is asked of every list; `""` is the order that it has by itself."""

    state: str = ""
    sort: str = ""
    page: int = 1

    @property
    def words(self) -> Mapping[str, str]:
        """The parts of an address that say which rows are asked for, but for the state."""
        return {}


Q = TypeVar("Q", bound=ListQuery)
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView(Generic[Q, R]):
    """The view.

    Attributes:
        query: What is asked for.
        states: By the word of the address, what a filter by state is called.
        choices: The namespaces or regions that can be chosen.
        heads: Of the columns by which it is sorted.
        rows: One page of it.
        steps_on: What can be done with all that is asked for.
        form: Whether it can be asked for something else.
    """

    query: Q
    states: Mapping[str, str]
    choices: Sequence[str]
    heads: Sequence[SortHead]
    rows: Page[R]
    steps_on: Sequence[Anchor] = ()
    form: bool = True


def list_view(
    name: str,
    items: Sequence[T],
    query: Q,
    columns: Mapping[str, SortColumn[T]],
    row: Callable[[T], R],
    links: Links,
    *,
    states: Mapping[str, str],
    choices: Sequence[str],
    steps_on: Sequence[Anchor] = (),
    size: int = SIZE,
) -> ListView[Q, R]:
    """Return the view.

    Args:
        name: Of the view, as in its address.
        items: All that is asked for, in the order that the list has by itself.
        query: What is asked for.
        columns: By which it can be sorted.
        row: Returns what is shown of an item; only asked of those on the page.
        links: Where views lead.
        states: As in the view.
        choices: As in the view.
        steps_on: As in the view.
        size: How many rows a page has.
    """
    ordered = sorted_by(items, columns, query.sort)

    def link(asked: Q) -> str:
        page = asked.page if asked.page > 1 else 0
        return links.view(name, **asked.words, state=asked.state, sort=asked.sort, page=page)

    found = page_of(ordered, query.page, size, lambda number: link(replace(query, page=number)))
    return ListView(
        query=query,
        states=states,
        choices=choices,
        heads=heads_of(columns, query.sort, lambda s: link(replace(query, sort=s, page=1))),
        rows=found.of([row(one) for one in found.items]),
        steps_on=steps_on,
    )
