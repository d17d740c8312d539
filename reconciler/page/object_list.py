"""All objects as a list: filtered and sorted by what the address says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from reconciler.audit.fleet.trouble import Trouble
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.page.chosen_objects import ObjectChoice, called, chosen, named, namespaces_of
from reconciler.page.links import Anchor, Links
from reconciler.page.pages import Page, page_of
from reconciler.page.sorting import SortColumn, SortHead, heads_of, sorted_by
from reconciler.page.states import ObjectStates, State

SIZE = 100
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
class ObjectQuery:
    """What a person asks to see; `""` of each is all, and the order of keys."""

    choice: ObjectChoice = field(default_factory=ObjectChoice)
    state: str = ""
    sort: str = ""
    page: int = 1


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectListView:
    """The view; `states` and `namespaces` are what can be chosen."""

    query: ObjectQuery
    states: Mapping[str, str]
    namespaces: Sequence[str]
    heads: Sequence[SortHead]
    rows: Page[ObjectRow]


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
    among = _among(world, placements, trouble, query.state)
    keys = chosen(world, placements, query.choice, among)
    if query.sort:
        keys = [k for k, _ in sorted_by([(k, placements[k]) for k in keys], COLUMNS, query.sort)]

    def link(asked: ObjectQuery) -> str:
        page = asked.page if asked.page > 1 else 0
        return links.view(
            "objects", **asked.choice.words, state=asked.state, sort=asked.sort, page=page
        )

    found = page_of(keys, query.page, size, lambda number: link(replace(query, page=number)))
    return ObjectListView(
        query=query,
        states=STATES,
        namespaces=namespaces_of(placements),
        heads=heads_of(COLUMNS, query.sort, lambda s: link(replace(query, sort=s, page=1))),
        rows=found.of([object_row(world, k, placements[k], states, links) for k in found.items]),
    )


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
