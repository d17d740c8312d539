"""Where the fields of one YAML document stand in its text, as the parser says it."""

from collections.abc import Sequence
from dataclasses import dataclass
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

from reconciler.manifests.text.events import NextEvent, TooDeep, events_of, pass_document

STEEPEST = 4  # below that no field is ever edited
NULLS = ("", "~", "null", "Null", "NULL")
OPENING = (MappingStartEvent, SequenceStartEvent)
CLOSING = (MappingEndEvent, SequenceEndEvent)


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value, or an item of a list, whose name is its number.

    `start` is the key's, that of an item is its content's, behind the dash; `end` is behind the
    last character of the value's content.
    """

    name: str | int
    start: int
    value: "Node"

    @property
    def end(self) -> int:
        """Where the entry ends."""
        return self.value.end


@dataclass(frozen=True, slots=True)
class Node:
    """A value: where it stands; `entries` of a mapping or a list, `None` of anything else.

    `flow` is true of what stands in braces or brackets, and of scalars; `is_list` of lists whose
    items are known; `empty` of what is written as nothing.
    """

    start: int
    end: int
    flow: bool
    entries: tuple[Entry, ...] | None = None
    empty: bool = False
    is_list: bool = False

    def find(self, name: str | int) -> Entry | None:
        """Return the entry of this name, `None` if there is none."""
        return next((entry for entry in self.entries or () if entry.name == name), None)


def node_at(root: Node, parts: Sequence[str | int]) -> Node | None:
    """Return the value that keys lead to, `None` if it is absent."""
    node = root
    for part in parts:
        entry = node.find(part)
        if entry is None:
            return None
        node = entry.value
    return node


def root_of(text: str, index: int) -> Node:
    """Return the content of one document.

    Raises:
        ValueError: There is no such document, or it cannot be read.
    """
    next_event = events_of(text)
    count = -1
    try:
        while type(event := next_event()) is not StreamEndEvent:
            if type(event) is not DocumentStartEvent:
                continue
            count += 1
            event = next_event()
            if count == index:
                return _node(next_event, event)
            pass_document(next_event, event)
    except (YAMLError, TooDeep) as error:
        raise ValueError("the file cannot be read to this document") from error
    raise ValueError(f"there is no document {index}")


def _node(next_event: NextEvent, event: Any, depth: int = 0) -> Node:
    """Return the node that starts with an event, and read on to its end."""
    start = event.start_mark.index
    if depth < STEEPEST and type(event) is MappingStartEvent:
        return _mapping(next_event, event, depth)
    if depth < STEEPEST and type(event) is SequenceStartEvent:
        return _list(next_event, event, depth)
    if type(event) not in OPENING:
        empty = type(event) is ScalarEvent and event.value in NULLS and event.implicit[0]
        return Node(start, event.end_mark.index, flow=True, empty=empty)
    flow, end, level = bool(event.flow_style), event.end_mark.index, 1
    while level:
        inner = next_event()
        kind = type(inner)
        level += (kind in OPENING) - (kind in CLOSING)
        if kind not in CLOSING or inner.end_mark.index > inner.start_mark.index:
            end = inner.end_mark.index
    return Node(start, end, flow=flow)


def _mapping(next_event: NextEvent, event: Any, depth: int) -> Node:
    """Return a mapping with its entries."""
    entries: list[Entry] = []
    while type(name := next_event()) is not MappingEndEvent:
        if type(name) is not ScalarEvent:
            raise ValueError("a key is no scalar")
        value = _node(next_event, next_event(), depth + 1)
        entries.append(Entry(name.value, name.start_mark.index, value))
    return _collection(event, name, entries)


def _list(next_event: NextEvent, event: Any, depth: int) -> Node:
    """Return a list with its items."""
    entries: list[Entry] = []
    while type(first := next_event()) is not SequenceEndEvent:
        value = _node(next_event, first, depth + 1)
        entries.append(Entry(len(entries), value.start, value))
    return _collection(event, first, entries, is_list=True)


def _collection(event: Any, last: Any, entries: list[Entry], *, is_list: bool = False) -> Node:
    """Return what stands between two events; one without braces ends with its last content."""
    flow = bool(event.flow_style)
    end = entries[-1].end if entries else event.end_mark.index
    return Node(
        event.start_mark.index,
        last.end_mark.index if flow else end,
        flow,
        tuple(entries),
        is_list=is_list,
    )
