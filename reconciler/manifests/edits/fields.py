"""Fields of one document, set or taken away in the text; every other byte stays.

The parser says where things stand, the text between stays as a person wrote it: comments, order,
quotes, line ends, other documents. What comes out is read again and compared with what it must
mean; where a file is written in a way that would not come out right, it is refused. What a verb
wants is a list of such changes, as values.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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

from reconciler.manifests.text.emitter import encode_scalar
from reconciler.manifests.text.raw import BOM, Unreadable, text_of
from reconciler.manifests.text.reader import NextEvent, TooDeep, events_of, pass_document, read
from reconciler.model.body import Body
from reconciler.model.records import dataclass

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
    entries: list[Entry] = []
    while type(name := next_event()) is not MappingEndEvent:
        if type(name) is not ScalarEvent:
            raise ValueError("a key is no scalar")
        value = _node(next_event, next_event(), depth + 1)
        entries.append(Entry(name.value, name.start_mark.index, value))
    return _collection(event, name, entries)


def _list(next_event: NextEvent, event: Any, depth: int) -> Node:
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


STEP = 2  # blanks of a level that is new
DASH = re.compile(r" *-(?: +|$)")
INDENTED_LIST = re.compile(r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\r?\n(\1 +)- ", re.MULTILINE)

Parts = Sequence[str | int]
"""Keys from the root to a field; a number is the place in a list."""

Item = Mapping[str, str | int]
"""An item of a list: a mapping whose values are plain."""


def set_field(data: bytes, path: str, index: int, parts: Parts, value: object) -> bytes:
    """Return the file with a field of one document set, its parents made where they are absent.

    Args:
        data: The file as it is.
        path: Its name, which says whether it is JSON.
        index: The document's place in it, as `Document.index` has it.
        parts: Keys from the root to the field.
        value: Text, a number, a boolean, or a list of mappings to texts and numbers.

    Raises:
        ValueError: The file is written in a way that cannot be edited without touching the rest.
    """
    text = text_to_edit(data)
    edited = _set(text, root_of(text, index), list(parts), value)
    return _checked(data, edited, path, index, lambda body: _with(body, list(parts), value))


def drop_field(data: bytes, path: str, index: int, parts: Parts) -> bytes:
    """Return the file without a field of one document; parents that it leaves empty go, too.

    Raises:
        ValueError: There is no such field, or it cannot be taken away without touching the rest.
    """
    text = text_to_edit(data)
    node, chain = root_of(text, index), []
    for part in parts:
        entry = node.find(part)
        if entry is None:
            raise ValueError(f"it has no {'.'.join(map(str, parts))}")
        chain.append((node, entry))
        node = entry.value
    while len(chain) > 1 and len(chain[-1][0].entries or ()) == 1:
        chain.pop()
    parent, entry = chain[-1]
    edited = _without(text, parent, entry)
    gone = list(parts[: len(chain)])
    return _checked(data, edited, path, index, lambda body: _lacking(body, gone))


def append_item(data: bytes, path: str, index: int, parts: Sequence[str], item: Item) -> bytes:
    """Return the file with an item behind the last one of a list, which is made if it is absent.

    Raises:
        ValueError: The field is no list, or cannot be edited without touching the rest.
    """
    text = text_to_edit(data)
    root = root_of(text, index)
    present_list, parent = node_at(root, parts), node_at(root, parts[:-1])
    if present_list is not None and present_list.is_list and present_list.entries:
        edited = _behind_last(text, present_list, item)
    elif present_list is None and parent is not None and parent.entries and not parent.flow:
        indent = _column(text, parent.entries[0].start)
        nested = INDENTED_LIST.search(text)
        deeper = indent + (len(nested[2]) - len(nested[1]) if nested else 0)
        lines = [f"{' ' * indent}{encode_scalar(parts[-1])}:", *_item_lines(item, deeper)]
        edited = _with_lines(text, parent.end, lines)
    elif present_list is None or present_list.empty or present_list.is_list:
        return set_field(data, path, index, parts, [dict(item)])
    else:
        raise ValueError(f"{parts[-1]} is no list")

    def change(body: Body) -> object:
        present = body
        for part in parts:
            present = present.get(part) or {}  # type: ignore[assignment]
        return _with(body, list(parts), [*present, dict(item)])

    return _checked(data, edited, path, index, change)


def _behind_last(text: str, node: Node, item: Item) -> str:
    """Return the text with one more item of a list, written as the last one is."""
    last = (node.entries or ())[-1]
    if node.flow:
        return f"{text[: last.end]}, {json.dumps(item, ensure_ascii=False)}{text[last.end :]}"
    start = text.rfind("\n", 0, last.start) + 1
    if not DASH.fullmatch(text[start : last.start]):
        raise ValueError("its last item begins in a way that only a person can go on")
    indent = text.index("-", start) - start
    lines = _item_lines(item, indent)
    if last.value.flow:
        pairs = ", ".join(f"{_in_braces(name)}: {_in_braces(one)}" for name, one in item.items())
        lines = [f"{' ' * indent}- {{{pairs}}}"]
    return _with_lines(text, last.end, lines)


def _item_lines(item: Item, indent: int) -> list[str]:
    """Return an item of a list in lines of its own."""
    pairs = [f"{encode_scalar(name)}: {_on_line(value)}" for name, value in item.items()]
    first, *rest = pairs
    return [f"{' ' * indent}- {first}", *(f"{' ' * (indent + STEP)}{pair}" for pair in rest)]


def _on_line(value: object) -> str:
    """Return a value as it stands behind a key on its line."""
    if isinstance(value, str) and "\n" not in value:
        return encode_scalar(value)
    return json.dumps(value, ensure_ascii=False)


def _in_braces(value: str | int) -> str:
    """Return a text or a number as it may stand between braces."""
    special = isinstance(value, str) and re.search(r"[,:\[\]{}]", value)
    return json.dumps(value, ensure_ascii=False) if special else encode_scalar(value)


def _set(text: str, node: Node, parts: list[str | int], value: object) -> str:
    """Return the text with the field below a mapping or a list set."""
    head, *rest = parts
    entry = node.find(head)
    if entry is None:
        return _append(text, node, head, rest, value)
    if not rest:
        written = json.dumps(value, ensure_ascii=False) if node.flow else _on_line(value)
        blank = " " if entry.value.start == entry.end and text[entry.end - 1] != " " else ""
        return f"{text[: entry.value.start]}{blank}{written}{text[entry.end :]}"
    if entry.value.entries is None:
        if not entry.value.empty:
            raise ValueError(f"{head} is no mapping")
        blank = " " if entry.value.start == entry.end else ""
        inner = _flow(rest, value)
        return f"{text[: entry.value.start]}{blank}{inner}{text[entry.end :]}"
    return _set(text, entry.value, rest, value)


def _append(text: str, node: Node, key: str | int, rest: Parts, value: object) -> str:
    """Return the text with an entry behind the last one of a mapping."""
    if node.entries is None or node.is_list:
        raise ValueError("it is no mapping")
    if node.flow:
        added = f"{json.dumps(key)}: {_flow(rest, value)}"
        if not node.entries:
            return f"{text[: node.start + 1]}{added}{text[node.start + 1 :]}"
        end = node.entries[-1].end
        return f"{text[:end]}, {added}{text[end:]}"
    indent = _column(text, node.entries[0].start)
    lines = [
        f"{' ' * (indent + STEP * depth)}{encode_scalar(name)}:"
        for depth, name in enumerate([key, *rest])
    ]
    lines[-1] += f" {_on_line(value)}"
    return _with_lines(text, node.entries[-1].end, lines)


def _column(text: str, place: int) -> int:
    """Return how far from the beginning of its line a place is."""
    return place - (text.rfind("\n", 0, place) + 1)


def _with_lines(text: str, end: int, lines: Sequence[str]) -> str:
    """Return the text with lines behind the one on which a content ends."""
    eol = "\r\n" if "\r\n" in text else "\n"
    block = eol.join(lines)
    if text[end - 1] == "\n":
        return f"{text[:end]}{block}{eol}{text[end:]}"
    newline = text.find("\n", end)
    if newline < 0:
        return f"{text}{eol}{block}"
    return f"{text[: newline + 1]}{block}{eol}{text[newline + 1 :]}"


def _flow(parts: Parts, value: object) -> str:
    """Return a value below some keys, in braces."""
    written = json.dumps(value, ensure_ascii=False)
    for part in reversed(parts):
        written = f"{{{json.dumps(part)}: {written}}}"
    return written


def _without(text: str, parent: Node, entry: Entry) -> str:
    """Return the text without one entry of a mapping, or one item of a list."""
    if parent.flow:
        entries = list(parent.entries or ())
        place = entries.index(entry)
        if place:
            return f"{text[: entries[place - 1].end]}{text[entry.end :]}"
        end = entries[1].start if len(entries) > 1 else entry.end
        return f"{text[: entry.start]}{text[end:]}"
    start = text.rfind("\n", 0, entry.start) + 1
    before = text[start : entry.start]
    if not DASH.fullmatch(before) if parent.is_list else before.strip(" "):
        raise ValueError("something else stands on its line")
    if text[entry.end - 1] == "\n":
        return f"{text[:start]}{text[entry.end :]}"
    newline = text.find("\n", entry.end)
    return f"{text[:start]}{text[newline + 1 :] if newline >= 0 else ''}"


def text_to_edit(data: bytes) -> str:
    """Return the text of a file.

    Raises:
        ValueError: It cannot be read.
    """
    try:
        return text_of(data)
    except Unreadable as error:
        raise ValueError(error.message) from error


def edited_data(data: bytes, text: str) -> bytes:
    """Return a file with another text; it keeps its byte order mark."""
    return (BOM if data.startswith(BOM) else b"") + text.encode("utf-8")


def _checked(
    data: bytes, edited: str, path: str, index: int, change: Callable[[Body], object]
) -> bytes:
    """Return the edited file if it means what it must, and nothing else."""
    made = edited_data(data, edited)
    before, after = read(data, path), read(made, path)
    expected = {
        document.index: change(document.body) if document.index == index else document.body
        for document in before.documents
    }
    if index not in expected or expected != {d.index: d.body for d in after.documents}:
        raise ValueError("it is written in a way that only a person can edit")
    return made


def _with(value: object, parts: Parts, new: object) -> object:
    """Return a value with a field below it set."""
    if not parts:
        return new
    head, *rest = parts
    if isinstance(value, list | tuple) and isinstance(head, int):
        return [_with(item, rest, new) if at == head else item for at, item in enumerate(value)]
    body = value if isinstance(value, Mapping) else {}
    return {**body, head: _with(body.get(head), rest, new)}


def _lacking(value: object, parts: Parts) -> object:
    """Return a value without a field below it."""
    head, *rest = parts
    if isinstance(value, list | tuple) and isinstance(head, int):
        kept = [(at, item) for at, item in enumerate(value) if rest or at != head]
        return [_lacking(item, rest) if at == head else item for at, item in kept]
    body = value if isinstance(value, Mapping) else {}
    if not rest:
        return {key: one for key, one in body.items() if key != head}
    return {**body, head: _lacking(body.get(head), rest)}


@dataclass(frozen=True, slots=True)
class SetField:
    """A field gets a value, its parents are made where they are absent."""

    parts: Parts
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class DropField:
    """A field goes, and the parents that it leaves empty."""

    parts: Parts


@dataclass(frozen=True, slots=True)
class AppendItem:
    """A list, which may be absent, gets one more item at its end."""

    parts: tuple[str, ...]
    item: Item


Step = SetField | DropField | AppendItem


def apply_steps(data: bytes, path: str, index: int, steps: Iterable[Step]) -> bytes:
    """Return a file with steps applied to one of its documents; every other byte stays.

    Args:
        data: The file as it is.
        path: Its name, which says whether it is JSON.
        index: The document's place in it, as `Document.index` has it.
        steps: In their order; each is about what the ones before it have left.

    Raises:
        ValueError: The file is written in a way that only a person can edit.
    """
    for step in steps:
        match step:
            case SetField(parts, value):
                data = set_field(data, path, index, parts, value)
            case DropField(parts):
                data = drop_field(data, path, index, parts)
            case AppendItem(names, item):
                data = append_item(data, path, index, names, item)
    return data
