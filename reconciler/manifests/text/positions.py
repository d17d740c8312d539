"""Where in a file JSON pointers lead; asked only for documents with a fault."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
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

from reconciler.manifests.text.events import NextEvent, TooDeep, events_of, pass_document, pass_node
from reconciler.manifests.text.texts import text_of
from reconciler.manifests.text.unreadable import Unreadable

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
            known = node.below.pop(name.value, None) if type(name) is ScalarEvent else None
            _enter(next_event, name, known, places)
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
