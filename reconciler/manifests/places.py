"""Places in a file: where a field stands, and where a document begins and ends.

Asked for faulty and finished documents only, so the file is simply read again, event by event.
"""

from collections.abc import Iterator
from typing import Any

from _ruamel_yaml import CParser
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    CollectionEndEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reconciler.manifests.limits import MAX_DEPTH
from reconciler.manifests.texts import BOM

Place = tuple[int, int]
"""Line and column, both from 1."""


def locate(data: bytes, index: int, pointer: str) -> Place:
    """Return where the key or item that a JSON pointer names stands in a document.

    What is absent has the place of its nearest parent; line 1 if the file cannot be read.
    """
    places: dict[str, Place] = {}
    try:
        for number, next_event in _documents(data):
            if number == index:
                _note(next_event(), next_event, "", places, depth=0)
                break
    except YAMLError:
        pass
    while pointer and pointer not in places:
        pointer = pointer.rpartition("/")[0]
    return places.get(pointer, (1, 1))


def cut(data: bytes, index: int) -> bytes:
    """Return a file without one of its documents, every other byte as it was.

    A document begins at its `---` and ends before the next one; what stands before the first
    document goes with it. Nothing at all is left where no other document has content.

    Raises:
        YAMLError: The file cannot be read.
    """
    starts: list[int] = []
    others = False
    parser = CParser(data.removeprefix(BOM))
    content = False
    while type(event := parser.get_event()) is not StreamEndEvent:
        if type(event) is DocumentStartEvent:
            starts.append(event.start_mark.line)
            content = False
        elif type(event) is DocumentEndEvent:
            others = others or (content and len(starts) - 1 != index)
        elif starts:
            content = content or type(event) is not ScalarEvent or bool(event.value)
    if not others:
        return b""
    lines = data.splitlines(keepends=True)
    begin = starts[index] if index else 0
    end = starts[index + 1] if index + 1 < len(starts) else len(lines)
    return b"".join(lines[:begin] + lines[end:])


def _documents(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the index of each document and what gives its events, at the document's start."""
    next_event = CParser(data.removeprefix(BOM)).get_event
    number = -1
    while type(event := next_event()) is not StreamEndEvent:
        if type(event) is DocumentStartEvent:
            number += 1
            yield number, next_event


def _note(event: Any, next_event: Any, pointer: str, places: dict[str, Place], depth: int) -> None:
    """Note where a node and everything in it stands."""
    places.setdefault(pointer, (event.start_mark.line + 1, event.start_mark.column + 1))
    if depth > MAX_DEPTH:
        return
    if isinstance(event, MappingStartEvent):
        while not isinstance(key := next_event(), CollectionEndEvent):
            name = key.value if isinstance(key, ScalarEvent) else ""
            here = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            places.setdefault(here, (key.start_mark.line + 1, key.start_mark.column + 1))
            if not isinstance(key, ScalarEvent):
                _note(key, next_event, here, places, depth + 1)
            _note(next_event(), next_event, here, places, depth + 1)
    elif isinstance(event, SequenceStartEvent):
        position = 0
        while not isinstance(item := next_event(), CollectionEndEvent):
            _note(item, next_event, f"{pointer}/{position}", places, depth + 1)
            position += 1
