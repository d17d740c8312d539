"""One field of one document, set or taken away in the text; every other byte stays.

The parser says where things stand, the text between stays as a person wrote it: comments, order,
quotes, line ends, other documents. What comes out is read again and compared with what it must
mean; where a file is written in a way that would not come out right, it is refused.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

from reconciler.manifests.text.events import NextEvent, TooDeep, events_of, pass_document
from reconciler.manifests.text.reader import read
from reconciler.manifests.text.texts import BOM, text_of
from reconciler.manifests.text.unreadable import Unreadable

STEP = 2  # blanks of a level that is new


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key with its value; `end` is behind the last character of the value's content."""

    name: str
    start: int
    value: "_Node"

    @property
    def end(self) -> int:
        """Where the entry ends."""
        return self.value.end


@dataclass(frozen=True, slots=True)
class _Node:
    """A value: where it stands; `entries` of a mapping, `None` of anything else.

    `flow` is true of what stands in braces or brackets, and of scalars.
    """

    start: int
    end: int
    flow: bool
    entries: tuple[_Entry, ...] | None = None
    empty: bool = False


def set_field(data: bytes, path: str, index: int, parts: Sequence[str], value: object) -> bytes:
    """Return the file with a field of one document set, its parents made where they are absent.

    Args:
        data: The file as it is.
        path: Its name, which says whether it is JSON.
        index: The document's place in it, as `Document.index` has it.
        parts: Keys from the root to the field.
        value: Text or a boolean.

    Raises:
        ValueError: The file is written in a way that cannot be edited without touching the rest.
    """
    text = _text(data)
    root = _root(text, index)
    edited = _set(text, root, list(parts), json.dumps(value, ensure_ascii=False))
    return _checked(data, edited, path, index, lambda body: _with(body, list(parts), value))


def drop_field(data: bytes, path: str, index: int, parts: Sequence[str]) -> bytes:
    """Return the file without a field of one document; parents that it leaves empty go, too.

    Raises:
        ValueError: There is no such field, or it cannot be taken away without touching the rest.
    """
    text = _text(data)
    node, chain = _root(text, index), []
    for part in parts:
        entry = next((e for e in node.entries or () if e.name == part), None)
        if entry is None:
            raise ValueError(f"it has no {'.'.join(parts)}")
        chain.append((node, entry))
        node = entry.value
    while len(chain) > 1 and len(chain[-1][0].entries or ()) == 1:
        chain.pop()
    parent, entry = chain[-1]
    edited = _without(text, parent, entry)
    gone = list(parts[: len(chain)])
    return _checked(data, edited, path, index, lambda body: _lacking(body, gone))


def _set(text: str, node: _Node, parts: list[str], value: str) -> str:
    """Return the text with the field below a mapping set."""
    head, *rest = parts
    entry = next((e for e in node.entries or () if e.name == head), None)
    if entry is None:
        return _append(text, node, head, rest, value)
    if not rest:
        return f"{text[: entry.value.start]}{value}{text[entry.end :]}"
    if entry.value.entries is None:
        if not entry.value.empty:
            raise ValueError(f"{head} is no mapping")
        blank = " " if entry.value.start == entry.end else ""
        inner = _flow(rest, value)
        return f"{text[: entry.value.start]}{blank}{inner}{text[entry.end :]}"
    return _set(text, entry.value, rest, value)


def _append(text: str, node: _Node, key: str, rest: list[str], value: str) -> str:
    """Return the text with an entry behind the last one of a mapping."""
    if node.entries is None:
        raise ValueError("it is no mapping")
    if node.flow:
        added = f"{json.dumps(key)}: {_flow(rest, value)}"
        if not node.entries:
            return f"{text[: node.start + 1]}{added}{text[node.start + 1 :]}"
        end = node.entries[-1].end
        return f"{text[:end]}, {added}{text[end:]}"
    first = node.entries[0].start
    indent = first - (text.rfind("\n", 0, first) + 1)
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = [f"{' ' * (indent + STEP * depth)}{name}:" for depth, name in enumerate([key, *rest])]
    block = f"{eol.join(lines)} {value}"
    end = node.entries[-1].end
    if text[end - 1] == "\n":
        return f"{text[:end]}{block}{eol}{text[end:]}"
    newline = text.find("\n", end)
    if newline < 0:
        return f"{text}{eol}{block}"
    return f"{text[: newline + 1]}{block}{eol}{text[newline + 1 :]}"


def _flow(parts: list[str], value: str) -> str:
    """Return a value below some keys, in braces."""
    for part in reversed(parts):
        value = f"{{{json.dumps(part)}: {value}}}"
    return value


def _without(text: str, parent: _Node, entry: _Entry) -> str:
    """Return the text without one entry of a mapping."""
    if parent.flow:
        entries = list(parent.entries or ())
        place = entries.index(entry)
        if place:
            return f"{text[: entries[place - 1].end]}{text[entry.end :]}"
        end = entries[1].start if len(entries) > 1 else entry.end
        return f"{text[: entry.start]}{text[end:]}"
    start = text.rfind("\n", 0, entry.start) + 1
    if text[start : entry.start].strip(" "):
        raise ValueError("something else stands on its line")
    if text[entry.end - 1] == "\n":
        return f"{text[:start]}{text[entry.end :]}"
    newline = text.find("\n", entry.end)
    return f"{text[:start]}{text[newline + 1 :] if newline >= 0 else ''}"


def _text(data: bytes) -> str:
    try:
        return text_of(data)
    except Unreadable as error:
        raise ValueError(error.message) from error


def _root(text: str, index: int) -> _Node:
    """Return the content of one document."""
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


def _node(next_event: NextEvent, event: Any, depth: int = 0) -> _Node:
    """Return the node that starts with an event, and read on to its end."""
    start = event.start_mark.index
    if type(event) is MappingStartEvent and depth < STEEPEST:
        return _mapping(next_event, event, depth)
    if type(event) not in (MappingStartEvent, SequenceStartEvent):
        empty = type(event) is ScalarEvent and event.value in NULLS and event.implicit[0]
        return _Node(start, event.end_mark.index, flow=True, empty=empty)
    flow, end, level = bool(event.flow_style), event.end_mark.index, 1
    while level:
        inner = next_event()
        kind = type(inner)
        level += (kind in OPENING) - (kind in CLOSING)
        if kind not in CLOSING or inner.end_mark.index > inner.start_mark.index:
            end = inner.end_mark.index
    return _Node(start, end, flow=flow)


def _mapping(next_event: NextEvent, event: Any, depth: int) -> _Node:
    """Return a mapping with its entries."""
    entries: list[_Entry] = []
    end = event.end_mark.index
    while type(name := next_event()) is not MappingEndEvent:
        if type(name) is not ScalarEvent:
            raise ValueError("a key is no scalar")
        value = _node(next_event, next_event(), depth + 1)
        entries.append(_Entry(name.value, name.start_mark.index, value))
        end = value.end
    if event.flow_style:
        end = name.end_mark.index
    return _Node(event.start_mark.index, end, bool(event.flow_style), tuple(entries))


STEEPEST = 4  # below that no field is ever edited
NULLS = ("", "~", "null", "Null", "NULL")
OPENING = (MappingStartEvent, SequenceStartEvent)
CLOSING = (MappingEndEvent, SequenceEndEvent)


def _checked(data: bytes, edited: str, path: str, index: int, change: Any) -> bytes:
    """Return the edited file if it means what it must, and nothing else."""
    made = (BOM if data.startswith(BOM) else b"") + edited.encode("utf-8")
    before, after = read(data, path), read(made, path)
    expected = {
        document.index: change(document.body) if document.index == index else document.body
        for document in before.documents
    }
    if index not in expected or expected != {d.index: d.body for d in after.documents}:
        raise ValueError("it is written in a way that only a person can edit")
    return made


def _with(body: Mapping[str, object], parts: list[str], value: object) -> dict[str, object]:
    """Return a body with a field set."""
    head, *rest = parts
    below = body.get(head)
    inner = _with(below if isinstance(below, Mapping) else {}, rest, value) if rest else value
    return {**body, head: inner}


def _lacking(body: Mapping[str, object], parts: list[str]) -> dict[str, object]:
    """Return a body without a field."""
    head, *rest = parts
    if not rest:
        return {key: value for key, value in body.items() if key != head}
    below = body.get(head)
    return {**body, head: _lacking(below if isinstance(below, Mapping) else {}, rest)}
