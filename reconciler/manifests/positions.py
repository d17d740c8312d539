"""Where in a file a JSON pointer leads; asked only for documents with a fault."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reconciler.manifests.events import NextEvent, TooDeep, events_of, pass_document, pass_node
from reconciler.manifests.texts import text_of
from reconciler.manifests.unreadable import Unreadable

Place = tuple[int, int]


def locate(data: bytes, index: int, pointer: str, *, key: bool = False) -> Place:
    """Return line and column, from 1, of what a JSON pointer names.

    Args:
        data: The file as Git has it.
        index: The document's place in it, as `Document.index` has it.
        pointer: JSON pointer; `""` is the whole document.
        key: Point at the key instead of the value, as is best for a field that must not be.

    Returns:
        The place of the value, or of its key if the value is a block below it. If there is no
        such value, the place of the nearest parent that there is; `(1, 1)` without any.
    """
    tokens = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    places = [(1, 1)]
    with suppress(Unreadable, YAMLError, TooDeep):
        places.extend(_places(events_of(text_of(data)), index, tokens, key=key))
    return places[-1]


def _places(next_event: NextEvent, index: int, tokens: list[str], *, key: bool) -> Iterator[Place]:
    """Yield the place of the document, then of each part of the pointer as far as there is one."""
    at = _root(next_event, index)
    if at is None:
        return
    yield _place(at)
    for depth, token in enumerate(tokens, start=1):
        entry = _entry(next_event, at, token)
        if entry is None:
            return
        name, at = entry
        is_block = getattr(at, "flow_style", True) is False
        wants_key = is_block or (key and depth == len(tokens))
        yield _place(name if wants_key and name is not None else at)


def _root(next_event: NextEvent, index: int) -> Any:
    """Return the first event of the content of one document."""
    count = -1
    while type(event := next_event()) is not StreamEndEvent:
        if type(event) is not DocumentStartEvent:
            continue
        count += 1
        event = next_event()
        if count == index:
            return event
        pass_document(next_event, event)
    return None


def _entry(next_event: NextEvent, at: Any, token: str) -> tuple[Any, Any] | None:
    """Return key and value of one entry of a mapping, or `None` and an item of a list."""
    if type(at) is MappingStartEvent:
        while type(name := next_event()) is not MappingEndEvent:
            pass_node(next_event, name)
            value = next_event()
            if type(name) is ScalarEvent and name.value == token:
                return name, value
            pass_node(next_event, value)
    elif type(at) is SequenceStartEvent and token.isdecimal():
        count = int(token) if len(token) < 10 else -1
        while type(item := next_event()) is not SequenceEndEvent:
            if count == 0:
                return None, item
            count -= 1
            pass_node(next_event, item)
    return None


def _place(event: Any) -> Place:
    return event.start_mark.line + 1, event.start_mark.column + 1
