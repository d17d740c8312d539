"""A person's document brought up to date or taken out of its file; comments and order are kept.

A document that is as we write it is written anew. Any other goes through ruamel's round trip, and
what comes out is read again: where the rest of the file would not be as it was, nothing is edited.
The only edit that a pass makes of what people wrote takes a document out of its file; every other
byte stays.
"""

import copy
import io
import json
import re
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from yaml.error import YAMLError as PyYAMLError
from yaml.events import DocumentStartEvent, ScalarEvent, StreamEndEvent

from reconciler.manifests.edits.fields import edited_data, text_to_edit
from reconciler.manifests.text.emitter import encode, encode_scalar
from reconciler.manifests.text.reader import TooDeep, events_of, pass_document, read
from reconciler.model.body import Body
from reconciler.model.records import dataclass

NEVER = 1 << 30  # columns at which the round trip would fold a line
DASHED = re.compile(r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n( *)- ", re.MULTILINE)

NESTED = re.compile(r"^[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n( +)[^\s#-]", re.MULTILINE)
IN_FLOW = re.compile(r"[:,\[\]{}]")


def update_document(
    data: bytes, path: str, place: tuple[int, str], before: Body, after: Body
) -> bytes:
    """Return the file with one of its objects brought from `before` to `after`.

    Args:
        data: The file as it is.
        path: Its name, which says whether it is JSON.
        place: The document's index in the file, and the JSON pointer to the object in it, `""`
            unless it stands in a List.
        before: What counts of the object now; its other fields stay as they are.
        after: What is to count.

    Raises:
        ValueError: The file is written in a way that cannot be edited without touching the rest.
    """
    index, pointer = place
    documents = {d.index: d.body for d in read(data, path).documents}
    if index not in documents:
        raise ValueError("it cannot be read")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    keys = [int(part) if part.isdecimal() else part for part in parts]
    wanted = _unshared(documents[index])
    _bring(_at(wanted, keys), before, after)
    if path.endswith(".json"):
        edited = f"{json.dumps(wanted, indent=2, ensure_ascii=False)}\n".encode()
    else:
        edited = _edited(data, index, documents[index], wanted, (keys, before, after))
    result = {d.index: d.body for d in read(edited, path).documents}
    if result != {**documents, index: wanted}:
        raise ValueError("it is written in a way that cannot be edited without touching the rest")
    return edited


Edit = tuple[Sequence[str | int], Body, Body]


def _edited(data: bytes, index: int, present: Body, wanted: Body, edit: Edit) -> bytes:
    """Return a YAML file with one document edited."""
    text = text_to_edit(data)
    spans, complete = spans_of(text)
    if not complete or index >= len(spans):
        raise ValueError("where its documents end cannot be told")
    start = spans[index].start
    end = spans[index + 1].start if index + 1 < len(spans) else len(text)
    part = text[start:end]
    head = "---\n" if part.startswith("---\n") else ""
    is_ours = part == head + encode(present)
    fresh = head + encode(wanted) if is_ours else _round_trip(part, edit)
    return edited_data(data, text[:start] + fresh + text[end:])


def _round_trip(part: str, edit: Edit) -> str:
    """Return the text of one document, edited."""
    keys, before, after = edit
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = NEVER
    yaml.explicit_start = part.startswith("---")
    dashed = DASHED.search(part)
    offset = len(dashed[2]) - len(dashed[1]) if dashed else 0
    nested = NESTED.search(part)
    yaml.indent(len(nested[1]) if nested else 2, sequence=offset + 2, offset=offset)
    stream = io.StringIO()
    try:
        root: Any = yaml.load(part)
        _bring(_at(root, keys), before, _quoted(after))
        yaml.dump(root, stream)
    except (YAMLError, TypeError, KeyError, IndexError) as error:
        raise ValueError("it is written in a way that cannot be edited for you") from error
    return stream.getvalue()


def _quoted(value: Any) -> Any:
    """Return a value whose texts are quoted as `encode` quotes them, fit for braces, too."""
    if isinstance(value, Mapping):
        return {name: _quoted(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_quoted(item) for item in value]
    if isinstance(value, str) and (IN_FLOW.search(value) or encode_scalar(value)[0] == '"'):
        return DoubleQuotedScalarString(value)
    return value


def _unshared(value: Any) -> Any:
    """Return a copy in which what aliases refer to stands at each of its places by itself."""
    if isinstance(value, Mapping):
        return {name: _unshared(item) for name, item in value.items()}
    return [_unshared(item) for item in value] if isinstance(value, list | tuple) else value


def _at(root: Any, keys: Sequence[str | int]) -> Any:
    for key in keys:
        root = root[key]
    return root


def _bring(target: Any, before: Body, after: Body) -> None:
    """Set what differs, in place; fields that neither has are left alone."""
    if not isinstance(target, MutableMapping):
        raise ValueError("it is no mapping")  # noqa: TRY004  # what a file holds, no mistake here
    for name in before.keys() - after.keys():
        target.pop(name, None)
    for name, value in after.items():
        old = before.get(name)
        if name in before and old == value:
            continue
        present = target.get(name)
        if isinstance(present, MutableMapping) and isinstance(value, Mapping):
            _bring(present, old if isinstance(old, Mapping) else {}, value)
        elif isinstance(present, MutableSequence) and isinstance(value, list):
            _bring_items(present, old, value)
        else:
            target[name] = copy.deepcopy(value)


def _bring_items(target: Any, before: object, after: list[Any]) -> None:
    """Set what differs in a list, item by item as far as there are as many."""
    old = before if isinstance(before, list) and len(before) == len(target) else None
    if old is None or len(after) < len(target):
        target[:] = copy.deepcopy(after)
        return
    for position, value in enumerate(after):
        if position >= len(target):
            target.append(copy.deepcopy(value))
        elif isinstance(target[position], MutableMapping) and isinstance(value, Mapping):
            _bring(target[position], old[position], value)
        elif old[position] != value:
            target[position] = copy.deepcopy(value)


@dataclass(slots=True)
class Span:
    """Where one document stands in the text.

    `start` is its separator or first directive, or the head of the file. `directed` says that it
    has directives, so it may only stand behind a `...` line or at the head. `dots` is where its
    own `...` is, -1 without one.
    """

    start: int
    directed: bool
    empty: bool = False
    dots: int = -1


def cut(data: bytes, index: int) -> bytes:
    """Return the file without one document, every other byte kept.

    The document goes with its separator and the comments up to the next separator; comments
    above the first separator of the file stay.

    Args:
        data: The file as Git has it.
        index: The document's place in it, as `Document.index` has it.

    Returns:
        The rest, or `b""` if no other document has any content: then the file may go.

    Raises:
        ValueError: The file has no such document, or its end cannot be told.
    """
    text = text_to_edit(data)
    spans, complete = spans_of(text)
    if not 0 <= index < len(spans) or (index == len(spans) - 1 and not complete):
        raise ValueError(f"there is no document {index} whose end can be told")
    others = [span for number, span in enumerate(spans) if number != index]
    if complete and all(span.empty for span in others):
        return b""
    return edited_data(data, text[: spans[index].start] + text[_end(spans, index, len(text)) :])


def _end(spans: list[Span], index: int, length: int) -> int:
    """Return where the text goes on behind the document that is cut."""
    if index + 1 == len(spans):
        return length
    span, following = spans[index], spans[index + 1]
    needs_dots = following.directed and index > 0 and spans[index - 1].dots < 0
    return span.dots if needs_dots else following.start


def spans_of(text: str) -> tuple[list[Span], bool]:
    """Return the documents up to broken syntax, and whether there is none."""
    next_event = events_of(text)
    spans: list[Span] = []
    try:
        while type(event := next_event()) is not StreamEndEvent:
            if type(event) is not DocumentStartEvent:
                continue
            start = event.start_mark.index if event.explicit else 0
            span = Span(start, directed=event.explicit and text[start] == "%")
            spans.append(span)
            root = next_event()
            span.empty = type(root) is ScalarEvent and not root.value and root.implicit[0]
            end = pass_document(next_event, root)
            if end.explicit:
                span.dots = end.start_mark.index
    except (PyYAMLError, TooDeep):
        return spans, False
    return spans, True
