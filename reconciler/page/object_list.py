"""All objects as a list: filtered and sorted by what the address says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.trouble import Trouble
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.page.chosen_objects import ObjectChoice, called, chosen, namespaces_of
from reconciler.page.links import Anchor, Links
from reconciler.page.list_view import SIZE, ListQuery, ListView, list_view
from reconciler.page.sorting import SortColumn
from reconciler.page.states import ObjectStates, State

MOST_COMPOSED = 50  # objects of one rebalancer or patch
STATES = {"unplaced": "not placed", "waiting": "waiting", "suspended": "suspended"}
"""By the word of the address, what a filter is called."""
Line = tuple[ObjectKey, Placed]
COLUMNS: Mapping[str, SortColumn[Line]] = {
    "name": SortColumn(title="object", order=lambda one: (one[0].name, one[0].namespace)),
    "namespace": SortColumn(title="namespace", order=lambda one: (one[0].namespace, one[0].name)),
    "clusters": SortColumn(title="clusters", order=lambda one: len(one[1]), is_number=True),
    "replicas": SortColumn(
        title="replicas", order=lambda one: sum(count for _, count in one[1]), is_number=True
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectQuery(ListQuery):
    """Which objects a person asks to see."""

    choice: ObjectChoice = field(default_factory=ObjectChoice)

    @property
    def words(self) -> Mapping[str, str]:
        """The parts of an address that say it."""
        return self.choice.words


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRow:
    """One object: how people call it, its states, where it is, why it lacks clusters or waits."""

    anchor: Anchor
    namespace: str
    states: Sequence[State]
    placed: Placed
    clusters: int
    replicas: int
    why: str


ObjectListView = ListView[ObjectQuery, ObjectRow]


def object_list_view(
    world: World,
    placements: Mapping[ObjectKey, Placed],
    trouble: Trouble,
    query: ObjectQuery,
    links: Links,
    *,
    size: int = SIZE,
) -> ObjectListView:
    """Return the view.

    Args:
        world: That is asked about.
        placements: Where everything is in it.
        trouble: What is wrong in it.
        query: What is asked for.
        links: Where views lead.
        size: How many objects a page has.

    Raises:
        UsageError: The selector is none.
    """
    states = ObjectStates(trouble)
    keys = objects_chosen(world, placements, trouble, query)
    return list_view(
        "objects",
        _Lines(keys, placements),
        query,
        COLUMNS,
        lambda one: object_row(world, *one, states, links),
        links,
        states=STATES,
        choices=namespaces_of(placements),
        steps_on=_steps_on(len(keys), query, links),
        size=size,
    )


def objects_chosen(
    world: World, placements: Mapping[ObjectKey, Placed], trouble: Trouble, query: ObjectQuery
) -> list[ObjectKey]:
    """Return all objects that are asked for, on any page, in the order of their keys."""
    return chosen(world, placements, query.choice, _among(world, placements, trouble, query.state))


def _steps_on(count: int, query: ObjectQuery, links: Links) -> list[Anchor]:
    """Return what can be composed for all objects that are asked for, unless they are too many."""
    if not 0 < count <= MOST_COMPOSED:
        return []
    these = "it" if count == 1 else f"these {count}"
    found = [
        Anchor(
            f"{verb.capitalize()} {these}",
            links.view(verb, of="objects", **query.words, state=query.state),
        )
        for verb in ("rebalance", "suspend")
    ]
    return [one for one in found if one.href]


class _Lines(Sequence[Line]):
    """Objects with where they are, which is read where it is asked for."""

    def __init__(self, keys: Sequence[ObjectKey], placements: Mapping[ObjectKey, Placed]) -> None:
        self._keys, self._placements = keys, placements

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, at: Any) -> Any:  # an item, or items of a slice
        if isinstance(at, slice):
            return [(key, self._placements[key]) for key in self._keys[at]]
        return self._keys[at], self._placements[self._keys[at]]


def object_row(
    world: World, key: ObjectKey, placed: Placed, states: ObjectStates, links: Links
) -> ObjectRow:
    """Return one object."""
    person = named(world, key)
    return ObjectRow(
        anchor=Anchor(called(person), links.object(person)),
        namespace=key.namespace,
        states=states.of(key, person, placed),
        placed=placed,
        clusters=len(placed),
        replicas=sum(count for _, count in placed),
        why=states.why(key),
    )


def _among(
    world: World, placements: Mapping[ObjectKey, Placed], trouble: Trouble, state: str
) -> Sequence[ObjectKey] | None:
    """Return the objects in a state, `None` for all."""
    if state == "unplaced":
        return list(trouble.unplaced)
    if state == "waiting":
        return list(trouble.waiting)
    if state == "suspended" and not any(one.is_configuration for one in trouble.suspended):
        keys = {one.key for one in trouble.suspended}
        return [key for key in placements if not keys.isdisjoint((key, named(world, key)))]
    return None
