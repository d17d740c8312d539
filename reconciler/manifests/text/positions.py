"""Where JSON pointers lead in a file, and Lists as kubectl prints them.

Positions are asked only for documents with a fault. Each item of a List is a document of its own,
at its place in the file.

Source: ours; items that say neither apiVersion nor kind have the list's, as in apimachinery
`unstructuredJSONScheme.decodeToList`, and lists in lists are taken apart, too, as by kubectl.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any

from yaml.error import YAMLError
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reconciler.manifests.identity import Unidentified
from reconciler.manifests.text.raw import Unreadable, text_of
from reconciler.manifests.text.reader import (
    Document,
    NextEvent,
    TooDeep,
    events_of,
    pass_document,
    pass_node,
)
from reconciler.model.body import Body
from reconciler.model.identity import group_of
from reconciler.model.kinds import KnownKinds
from reconciler.model.records import dataclass, field, replace

Place = tuple[int, int]
"""Line and column, from 1."""

NOWHERE: Place = (1, 1)


@dataclass(frozen=True, slots=True)
class Spot:
    """What is looked for: a document by its index in the file, and a JSON pointer into it.

    `""` points at the whole document. With `key` the key of a field is meant instead of its value,
    as is best for a field that must not be.
    """

    index: int
    pointer: str
    key: bool = False


@dataclass(slots=True)
class _Node:
    """What is looked for at one value of a document and below it.

    Where there is no such value, the spot is at the nearest parent that there is.
    """

    spots: list[Spot] = field(default_factory=list)
    below: dict[str, "_Node"] = field(default_factory=dict)


def locate_all(data: bytes, spots: Iterable[Spot]) -> Mapping[Spot, Place]:
    """Return where each spot is; the file is read once, however many there are.

    Args:
        data: The file as Git has it.
        spots: What is looked for.

    Returns:
        The place of the value, or of its key if the value is a block below it. If there is no
        such value, the place of the nearest parent that there is; `(1, 1)` without any.
    """
    roots: dict[int, _Node] = {}
    places: dict[Spot, Place] = {}
    for spot in spots:
        places[spot] = NOWHERE
        node = roots.setdefault(spot.index, _Node())
        for part in spot.pointer.split("/")[1:]:
            token = part.replace("~1", "/").replace("~0", "~")
            node = node.below.setdefault(token, _Node())
        node.spots.append(spot)
    with suppress(Unreadable, YAMLError, TooDeep):
        _locate_in(events_of(text_of(data)), roots, places)
    return places


def _locate_in(
    next_event: NextEvent, roots: Mapping[int, _Node], places: dict[Spot, Place]
) -> None:
    """Read the documents up to the last one in which something is looked for."""
    index, last = -1, max(roots, default=-1)
    while index < last and type(event := next_event()) is not StreamEndEvent:
        if type(event) is not DocumentStartEvent:
            continue
        index += 1
        event = next_event()
        if index in roots:
            _mark(roots[index], _place(event), _place(event), places)
            _descend(next_event, event, roots[index], places)
            pass_document(next_event)
        else:
            pass_document(next_event, event)


def _descend(next_event: NextEvent, at: Any, node: _Node, places: dict[Spot, Place]) -> None:
    """Read a value to its end, and mark what is found below it."""
    if not node.below:
        pass_node(next_event, at)
    elif type(at) is MappingStartEvent:
        while type(name := next_event()) is not MappingEndEvent:
            pass_node(next_event, name)
            inner = node.below.pop(name.value, None) if type(name) is ScalarEvent else None
            _enter(next_event, name, inner, places)
    elif type(at) is SequenceStartEvent:
        count = 0
        while type(item := next_event()) is not SequenceEndEvent:
            _enter(next_event, None, node.below.get(str(count)), places, item)
            count += 1


def _enter(
    next_event: NextEvent,
    name: Any,
    node: _Node | None,
    places: dict[Spot, Place],
    value: Any = None,
) -> None:
    """Read the value of a key, or an item of a list, that stands there already."""
    value = next_event() if value is None else value
    if node is None:
        pass_node(next_event, value)
        return
    is_block = getattr(value, "flow_style", True) is False
    at_key = _place(value if name is None else name)
    _mark(node, at_key if is_block else _place(value), at_key, places)
    _descend(next_event, value, node, places)


def _mark(node: _Node, at_value: Place, at_key: Place, places: dict[Spot, Place]) -> None:
    """Place what is looked for at a value, and for the time being what is below it."""
    for spot in node.spots:
        places[spot] = at_key if spot.key else at_value
    pending = list(node.below.values())
    for below in pending:  # it grows on the way
        pending.extend(below.below.values())
        places.update((spot, at_value) for spot in below.spots)


def _place(event: Any) -> Place:
    return event.start_mark.line + 1, event.start_mark.column + 1


SUFFIX = "List"
END: Place = (1 << 62, 0)

NO_ITEMS = Unidentified(
    "",
    "list-items",
    "`items` of a List is no list, it must be a list of objects",
    "items: [{apiVersion: ..., kind: ..., metadata: {name: ...}}]",
)
NO_OBJECT = Unidentified(
    "",
    "list-items",
    "an item of a List is no mapping, it must be an object",
    "a mapping with apiVersion, kind and metadata",
)


@dataclass(frozen=True, slots=True)
class BrokenItem:
    """What stands in a List and is no object, and why."""

    document: Document
    reason: Unidentified


Item = Document | BrokenItem


def unfold(documents: Iterable[Document], data: bytes, known: KnownKinds) -> Iterator[Item]:
    """Yield documents as they are, but for Lists: of these the items, in file order.

    Args:
        documents: What the file holds.
        data: The file as Git has it, which says where items stand.
        known: By which a List of objects is told from another program's.
    """
    for document in documents:
        if is_list(document.body, known):
            yield from _placed(document, [*_items(document.body, "", known)], data)
        else:
            yield document


def is_list(body: Body, known: KnownKinds) -> bool:
    """Return whether a document is a List of objects.

    A document of a kind that ends in List is one if its items are, and if it has no name: that is
    an object's. Of an unknown kind all items must be objects, or it is not for us.
    """
    api_version, kind, items = body.get("apiVersion"), body.get("kind"), body.get("items")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not kind.endswith(SUFFIX):
        return False
    if (api_version, kind) == ("v1", SUFFIX):
        return True
    metadata = body.get("metadata")
    if "items" not in body or (isinstance(metadata, Mapping) and "name" in metadata):
        return False
    if (group_of(api_version), kind.removesuffix(SUFFIX)) in known.scopes:
        return True
    return isinstance(items, list) and all(
        isinstance(item, Mapping) and isinstance(item.get("metadata"), Mapping) for item in items
    )


def _items(
    body: Body, pointer: str, known: KnownKinds
) -> Iterator[tuple[str, Body | Unidentified]]:
    items = body.get("items")
    at = f"{pointer}/items"
    if not isinstance(items, list | None):
        yield at, NO_ITEMS
        return
    for number, element in enumerate(items or ()):
        place = f"{at}/{number}"
        if not isinstance(element, Mapping):
            yield place, NO_OBJECT
            continue
        whole = _with_kind(element, body)
        if is_list(whole, known):
            yield from _items(whole, place, known)
        else:
            yield place, whole


def _with_kind(item: Body, listed: Body) -> Body:
    """Return an item with the kind and the version that a list of one kind gives to its items."""
    kind = str(listed["kind"]).removesuffix(SUFFIX)
    if not kind or item.get("kind", kind) != kind or {"apiVersion", "kind"} <= item.keys():
        return item
    return {"apiVersion": listed["apiVersion"], "kind": kind, **item}


def _placed(
    listed: Document, found: list[tuple[str, Body | Unidentified]], data: bytes
) -> Iterator[Item]:
    """Yield the items where they stand, each with the aliases that are its own."""
    spots = [Spot(listed.index, pointer) for pointer, _ in found]
    at = locate_all(data, spots) if found else {}
    places = [*(at[spot] for spot in spots), END]
    for (pointer, element), (start, end) in zip(found, pairwise(places), strict=True):
        document = replace(
            listed,
            line=start[0],
            column=start[1],
            pointer=pointer,
            body=listed.body if isinstance(element, Unidentified) else element,
            aliases=tuple(place for place in listed.aliases if start <= place < end),
        )
        yield BrokenItem(document, element) if isinstance(element, Unidentified) else document
