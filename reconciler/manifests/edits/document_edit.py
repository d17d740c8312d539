"""A person's document brought up to date: fields set and taken away, comments and order kept.

A document that is as we write it is written anew. Any other goes through ruamel's round trip, and
what comes out is read again: where the rest of the file would not be as it was, nothing is edited.
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

from reconciler.manifests.edits.document_removal import spans_of
from reconciler.manifests.text.emitter import encode, encode_scalar
from reconciler.manifests.text.reader import read
from reconciler.manifests.text.texts import BOM, text_of
from reconciler.manifests.text.unreadable import Unreadable
from reconciler.model.body import Body

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
    keys = _keys(pointer)
    wanted = _unshared(documents[index])
    _bring(_at(wanted, keys), before, after)
    if path.endswith(".json"):
        edited = f"{json.dumps(wanted, indent=2, ensure_ascii=False)}\n".encode()
    else:
        edited = _edited(data, index, documents[index], wanted, (keys, before, after))
    found = {d.index: d.body for d in read(edited, path).documents}
    if found != {**documents, index: wanted}:
        raise ValueError("it is written in a way that cannot be edited without touching the rest")
    return edited


Edit = tuple[Sequence[str | int], Body, Body]


def _edited(data: bytes, index: int, present: Body, wanted: Body, edit: Edit) -> bytes:
    """Return a YAML file with one document edited."""
    try:
        text = text_of(data)
    except Unreadable as error:
        raise ValueError(error.message) from error
    spans, complete = spans_of(text)
    if not complete or index >= len(spans):
        raise ValueError("where its documents end cannot be told")
    start = spans[index].start
    end = spans[index + 1].start if index + 1 < len(spans) else len(text)
    part = text[start:end]
    head = "---\n" if part.startswith("---\n") else ""
    is_ours = part == head + encode(present)
    fresh = head + encode(wanted) if is_ours else _round_trip(part, edit)
    edited = text[:start] + fresh + text[end:]
    return (BOM if data.startswith(BOM) else b"") + edited.encode("utf-8")


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
        return {name: _quoted(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_quoted(one) for one in value]
    if isinstance(value, str) and (IN_FLOW.search(value) or encode_scalar(value)[0] == '"'):
        return DoubleQuotedScalarString(value)
    return value


def _unshared(value: Any) -> Any:
    """Return a copy in which what aliases refer to stands at each of its places by itself."""
    if isinstance(value, Mapping):
        return {name: _unshared(one) for name, one in value.items()}
    return [_unshared(one) for one in value] if isinstance(value, list | tuple) else value


def _keys(pointer: str) -> list[str | int]:
    """Return the keys that a JSON pointer to an item leads through."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return [int(part) if part.isdecimal() else part for part in parts]


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
        known = before.get(name)
        if name in before and known == value:
            continue
        present = target.get(name)
        if isinstance(present, MutableMapping) and isinstance(value, Mapping):
            _bring(present, known if isinstance(known, Mapping) else {}, value)
        elif isinstance(present, MutableSequence) and isinstance(value, list):
            _bring_items(present, known, value)
        else:
            target[name] = copy.deepcopy(value)


def _bring_items(target: Any, before: object, after: list[Any]) -> None:
    """Set what differs in a list, item by item as far as there are as many."""
    known = before if isinstance(before, list) and len(before) == len(target) else None
    if known is None or len(after) < len(target):
        target[:] = copy.deepcopy(after)
        return
    for position, value in enumerate(after):
        if position >= len(target):
            target.append(copy.deepcopy(value))
        elif isinstance(target[position], MutableMapping) and isinstance(value, Mapping):
            _bring(target[position], known[position], value)
        elif known[position] != value:
            target[position] = copy.deepcopy(value)
