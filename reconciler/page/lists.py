"""Lists that are filtered, sorted, grouped and paged by their address, whatever their rows are.

By itself a list begins with what is wrong, the worst first. Objects are chosen by namespace,
labels, name and cluster, as `get` chooses them. The column that gives the order is part of the
address, and so are what rows are grouped by, and the page of a long list. Rows share their words:
a state is a word and the tone that gives it its shape and colour; the room of a cluster is amounts
as users write them, and bars of so many parts.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

from reconciler.audit.fleet.placed_objects import DecidedObjects
from reconciler.audit.fleet.trouble import SILENT, Trouble, is_well
from reconciler.audit.fleet.usage import DECLARED, FOREMOST, Usage, amount_text, part_text
from reconciler.core.dialects import decision_on
from reconciler.manifests.selectors import parse_selector
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of, selecting
from reconciler.model.quantity import (
    Quantity,
    Resources,
)
from reconciler.model.records import dataclass, replace
from reconciler.model.text import enumerated
from reconciler.model.world import World
from reconciler.page.links import Anchor, Links


class Tone(StrEnum):
    """What somebody should do: nothing, act, look, know of it, or nothing is known."""

    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    HOLD = "hold"
    PLAIN = "plain"


class State(NamedTuple):
    """A state."""

    word: str
    tone: Tone

    @property
    def rank(self) -> int:
        """How bad it is: 0 for the worst of all."""
        return WORST_FIRST.index(self) if self in WORST_FIRST else len(WORST_FIRST)


READY, DECLARED_READY = State("ready", Tone.GOOD), State("declared", Tone.GOOD)
NOT_READY, NO_REPORT = State("not ready", Tone.BAD), State("no report", Tone.BAD)
DELETED, OVER = State("being deleted", Tone.WARN), State("over-committed", Tone.BAD)
PLACED, UNPLACED = State("placed", Tone.GOOD), State("not placed", Tone.BAD)
AT_RISK, WAITING = State("at risk", Tone.WARN), State("waiting", Tone.WARN)
SUSPENDED, NOWHERE = State("suspended", Tone.HOLD), State("nowhere", Tone.PLAIN)
WORST_FIRST = (NOT_READY, DELETED, NO_REPORT, OVER, UNPLACED, AT_RISK, WAITING, SUSPENDED)
"""States in the order of the kinds of problems; what is at risk runs still, or may."""


def health_of(usage: Usage) -> State:
    """Return how well a cluster is, by its own report."""
    if usage.leaving:
        return DELETED
    if is_well(usage):
        return DECLARED_READY if usage.ready == DECLARED else READY
    return NO_REPORT if usage.ready == SILENT else NOT_READY


def cluster_states(usage: Usage) -> tuple[State, ...]:
    """Return all states of a cluster, its health first."""
    return (health_of(usage), *((OVER,) if usage.over else ()))


SHOWN_DOWN = 3  # clusters that are named of one object


class ObjectStates:
    """The states of the objects of one world; asked about many of them."""

    def __init__(self, trouble: Trouble) -> None:
        """Take what is wrong in that world."""
        self._trouble = trouble
        suspended = {one.key for one in trouble.suspended}
        self._suspended = suspended | set(filter(None, map(decision_on, suspended)))
        self._all = any(one.is_configuration for one in trouble.suspended)
        self._down = trouble.down

    def of(self, key: ObjectKey, named: ObjectKey, placed: Placed) -> tuple[State, ...]:
        """Return the states of an object, the worst first.

        Args:
            key: What decisions about it bear.
            named: How people call it.
            placed: Where it is; empty if nowhere.
        """
        states = []
        if key in self._trouble.unplaced:
            states.append(UNPLACED)
        if self._down_in(placed):
            states.append(AT_RISK)
        if key in self._trouble.waiting:
            states.append(WAITING)
        if self._all or not self._suspended.isdisjoint((key, named)):
            states.append(SUSPENDED)
        return tuple(states) or ((PLACED,) if placed else (NOWHERE,))

    def order(self, key: ObjectKey, placed: Placed) -> int:
        """Return how bad an object is, without asking how people call it."""
        return self.of(key, key, placed)[0].rank

    @property
    def are_calm(self) -> bool:
        """Whether no object is otherwise than the others."""
        trouble = self._trouble
        return not (trouble.unplaced or trouble.waiting or self._suspended or self._down)

    def _down_in(self, placed: Placed) -> list[str]:
        """Return the clusters of an object that are down."""
        return [name for name, _ in placed if name in self._down] if self._down else []

    def is_down(self, cluster: str) -> bool:
        """Return whether nothing on a cluster counts as well."""
        return cluster in self._down

    def why(self, key: ObjectKey, placed: Placed) -> str:
        """Return why an object lacks clusters, is at risk or waits, `""` if it is none of that."""
        problem = self._trouble.unplaced.get(key, "")
        down = self._down_in(placed)
        verb = "is" if len(down) == 1 else "are"
        risk = f"{enumerated(down, SHOWN_DOWN)} {verb} not ready" if down else ""
        waits = (
            f"{one.cluster} waits for {one.waits_for}" for one in self._trouble.waiting.get(key, ())
        )
        return "; ".join(filter(None, (problem, risk, *waits)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChoice:
    """What a person asks to see: only what matches all of it; `""` of each is all."""

    namespace: str = ""
    selector: str = ""
    name: str = ""
    cluster: str = ""

    @property
    def words(self) -> dict[str, str]:
        """The parts of an address that say it."""
        return {
            "namespace": self.namespace,
            "selector": self.selector,
            "name": self.name,
            "cluster": self.cluster,
        }


def called(key: ObjectKey) -> str:
    """Return an object as people call it."""
    return f"{key.kind.lower()}/{key.name}"


def namespaces_of(keys: Iterable[ObjectKey]) -> list[str]:
    """Return the namespaces that can be chosen, sorted."""
    return sorted({key.namespace for key in keys if key.namespace})


def chosen(
    world: World,
    placements: Mapping[ObjectKey, Placed],
    choice: ObjectChoice,
    among: Collection[ObjectKey] | None = None,
    *,
    decided: DecidedObjects | None = None,
) -> list[ObjectKey]:
    """Return the objects that are asked for, in the order of their keys.

    Args:
        world: That has them.
        placements: Where everything is in it.
        choice: What is asked for.
        among: Only these, in their order; `None` for all.
        decided: What decisions in the world are about, where somebody has read it before.

    Raises:
        UsageError: The selector is none.
    """
    is_wanted = selecting(parse_selector(choice.selector)) if choice.selector.strip() else None
    about = (decided or DecidedObjects(world)).of
    rows = []
    for key in placements if among is None else among:
        if key not in placements or choice.namespace not in ("", key.namespace):
            continue
        if choice.cluster and all(choice.cluster != name for name, _ in placements[key]):
            continue
        if choice.name and choice.name not in called(about(key).person):
            continue
        if is_wanted is not None:
            person = world.inputs.get(about(key).person)
            if person is None or not is_wanted(labels_of(person.body)):
                continue
        rows.append(key)
    return rows


T = TypeVar("T")
DOWN = "-"  # before the name of a column: the greatest first


@dataclass(frozen=True, slots=True, kw_only=True)
class SortColumn(Generic[T]):
    """A column: its title, by what it is sorted, and whether it has numbers.

    A click asks of numbers for the greatest first, and of columns that are `greatest_first`.
    """

    title: str
    order: Callable[[T], object]
    is_number: bool = False
    greatest_first: bool = False


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
) -> Mapping[str, SortHead]:
    """Return the heads of columns; the one that counts leads to its opposite order."""
    return {
        name: SortHead(
            Anchor(
                column.title,
                link(_next(name, column.is_number or column.greatest_first, sort)),
            ),
            {name: "ascending", f"{DOWN}{name}": "descending"}.get(sort, ""),
            column.is_number,
        )
        for name, column in columns.items()
    }


def _next(name: str, greatest_first: bool, sort: str) -> str:  # noqa: FBT001  # a column's own
    """Return the order that a click asks for."""
    first, other = (f"{DOWN}{name}", name) if greatest_first else (name, f"{DOWN}{name}")
    return other if sort == first else first


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


SIZE = 100


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What is asked of every list.

    Attributes:
        state: Only rows in it, `""` for all.
        sort: The column that gives the order, `""` for the worst first.
        group: What rows stand together by, `""` for nothing.
        page: Which page, from 1.
    """

    state: str = ""
    sort: str = ""
    group: str = ""
    page: int = 1

    @property
    def words(self) -> Mapping[str, str]:
        """The parts of an address that say which rows are asked for, but for the state."""
        return {}


Q = TypeVar("Q", bound=ListQuery)

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView(Generic[Q, R]):
    """The view.

    Attributes:
        query: What is asked for.
        states: By the word of the address, what a filter by state is called.
        choices: The namespaces or regions that can be chosen.
        heads: Of the columns by which it is sorted, by name.
        rows: One page of it.
        groups: The same rows under their titles; without grouping all of them under `""`.
        groupings: By what its rows can be grouped.
        steps_on: What can be done with all that is asked for.
        form: Whether it can be asked for something else.
    """

    query: Q
    states: Mapping[str, str]
    choices: Sequence[str]
    heads: Mapping[str, SortHead]
    rows: Page[R]
    groups: Sequence[tuple[str, Sequence[R]]]
    groupings: Sequence[str]
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
    worst_first: str,
    groupings: Mapping[str, Callable[[T], Iterable[str]]],
    steps_on: Sequence[Anchor] = (),
    size: int = SIZE,
) -> ListView[Q, R]:
    """Return the view.

    Args:
        name: Of the view, as in its address.
        items: All that is asked for, the worst first.
        query: What is asked for.
        columns: By which it can be sorted.
        row: Returns what is shown of an item; only asked of those on the page.
        links: Where views lead.
        states: As in the view.
        choices: As in the view.
        worst_first: The column that gives that order, and counts where no other does.
        groupings: By the word of the address, under which titles an item stands.
        steps_on: As in the view.
        size: How many rows a page has.
    """
    sort = query.sort or worst_first
    ordered = sorted_by(items, columns, query.sort)

    def link(asked: Q) -> str:
        page = asked.page if asked.page > 1 else 0
        more = {"state": asked.state, "sort": asked.sort, "group": asked.group}
        return links.view(name, **asked.words, **more, page=page)

    titles = groupings.get(query.group)
    titled = _Untitled(ordered) if titles is None else _titled(ordered, titles)
    found = page_of(titled, query.page, size, lambda number: link(replace(query, page=number)))
    rows = [(title, row(one)) for title, one in found.items]
    return ListView(
        query=query,
        states=states,
        choices=choices,
        heads=heads_of(columns, sort, lambda s: link(replace(query, sort=s, page=1))),
        rows=found.of([shown for _, shown in rows]),
        groups=[
            (title, [shown for _, shown in listed])
            for title, listed in groupby(rows, key=lambda one: one[0])
        ],
        groupings=tuple(groupings),
        steps_on=steps_on,
    )


def _titled(items: Iterable[T], titles: Callable[[T], Iterable[str]]) -> list[tuple[str, T]]:
    """Return items under each of their titles, the title of the first item first."""
    groups: dict[str, list[T]] = {}
    for element in items:
        for title in titles(element):
            groups.setdefault(title, []).append(element)
    return [(title, element) for title, listed in groups.items() for element in listed]


class _Untitled(Sequence[tuple[str, T]]):
    """Items under no title; each is read where it is asked for."""

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at: Any) -> Any:  # an item, or items of a slice
        if isinstance(at, slice):
            return [("", one) for one in self._items[at]]
        return "", self._items[at]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of a resource is taken.

    Attributes:
        resource: Its name.
        used: What is taken.
        part: The same of what there is, `""` where that is not known.
        free: What is left, `""` where that is not known.
        reserved: What of it is decided and not reported yet, `""` unless room is protected.
        over: By how much it is over-committed, `""` if it is not.
        percent: What is taken of what there is; above 100 where it is over-committed, `None` where
            it is not known.
    """

    resource: str
    used: str
    part: str
    free: str
    over: str
    percent: int | None
    reserved: str = ""

    @property
    def bar(self) -> tuple[int, int]:
        """How far a bar of a hundred is filled, and from where on it is over-committed.

        >>> Amount(resource="cpu", used="", part="", free="", over="", percent=125).bar
        (100, 80)
        """
        percent = self.percent or 0
        return (percent, 100) if percent <= 100 else (100, round(10_000 / percent))


def amounts_of(usage: Usage, *, every: bool = False) -> Sequence[Amount]:
    """Return what is known of cpu and memory, with `every` of what else a cluster counts, too."""
    known = [*usage.used, *(usage.capacity or {})] if every else []
    names = dict.fromkeys((*FOREMOST, *sorted(known)))
    return [one for name in names if (one := _amount(usage, name)) is not None]


def _amount(usage: Usage, name: str) -> Amount | None:
    """Return how much of a resource is used, `None` where nothing is known of it."""
    used, capacity = usage.used.get(name), (usage.capacity or {}).get(name)
    if used is None and capacity is None:
        return None
    return Amount(
        resource=name,
        used=_shown(usage.used, name) or "nothing",
        part="" if not capacity else part_text(name, used or Quantity(0), capacity),
        free=_shown(usage.free or {}, name),
        over=_shown(usage.over, name),
        reserved=_shown(usage.reserved, name),
        percent=None if not capacity else round(100 * (used or 0) / capacity),
    )


def _shown(resources: Resources | Mapping[str, Quantity], name: str) -> str:
    """Return an amount as people write it, `""` where it is not known."""
    amount = resources.get(name)
    if amount is None:
        return ""
    return amount_text(name, amount)
