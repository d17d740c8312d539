"""YAML texts inside of objects, read and written as sigs.k8s.io/yaml does: YAML 1.1 by go-yaml.

A text that a reader of YAML 1.1 would take for something else, as `no`, `on`, `y` or `12:30:45`, is
in quotes, whoever wrote it.

Source: sigs.k8s.io/yaml `YAMLToJSON`, `JSONToYAML`, `convertToJSONableObject`, and its goyaml.v2
resolve.go, decode.go, encode.go, sorter.go.
"""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cmp_to_key
from typing import Any

from reconciler.errors import UserError
from reconciler.manifests.text.raw import MAX_DEPTH, MAX_NODES
from reconciler.manifests.text.reader import NextEvent, events_in
from reconciler.model.text import float_text

WIDTH = 80
MERGE = "<<"
TOO_LARGE = "the text must be YAML: it has too many nodes, or is nested too deep"
NOT_FINITE = "the text must be YAML: a number in it is not finite"
NAMED: Mapping[str, object] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
"""Plain scalars that mean something else than their text."""
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_MOMENT = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]| )\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
_MOST_DIGITS = 400


def read_yaml(text: str) -> object:
    """Return what the first document of a text means in JSON.

    Raises:
        UserError: It is no YAML, or too large.
    """
    from yaml.error import YAMLError  # noqa: PLC0415  # only where something is overridden

    try:
        return _Reader(events_in(text.encode("utf-8", "replace"))).document()
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = f" from line {mark.line + 1}, column {mark.column + 1} on" if mark else ""
        raise UserError(f"the text must be YAML: it is none{at}") from None


class _Reader:
    """Makes values of events; what aliases repeat counts each time."""

    def __init__(self, next_event: NextEvent) -> None:
        self._next = next_event
        self._left = MAX_NODES
        self._anchors: dict[str, tuple[object, int]] = {}

    def document(self) -> object:
        """Return the value of the first document, `None` if there is none."""
        from yaml.events import DocumentStartEvent, StreamEndEvent  # noqa: PLC0415

        while not isinstance(event := self._next(), DocumentStartEvent):
            if isinstance(event, StreamEndEvent):
                return None
        return self._value(self._next(), 0)

    def _value(self, event: Any, depth: int) -> object:
        """Return what a node means."""
        from yaml.events import AliasEvent, MappingStartEvent, ScalarEvent  # noqa: PLC0415

        self._count(1)
        if depth > MAX_DEPTH:
            raise UserError(TOO_LARGE)
        if isinstance(event, AliasEvent):
            if event.anchor not in self._anchors:
                raise UserError("the text must be YAML: an alias has no anchor before it")
            value, size = self._anchors[event.anchor]
            self._count(size)
            return value
        before = self._left
        if isinstance(event, ScalarEvent):
            value = resolved(event.value) if event.implicit[0] else event.value
            if isinstance(value, float) and not math.isfinite(value):
                raise UserError(NOT_FINITE)
        elif isinstance(event, MappingStartEvent):
            value = self._mapping(depth + 1)
        else:
            value = self._sequence(depth + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, before - self._left
        return value

    def _count(self, nodes: int) -> None:
        self._left -= nodes
        if self._left < 0:
            raise UserError(TOO_LARGE)

    def _sequence(self, depth: int) -> list[object]:
        from yaml.events import SequenceEndEvent  # noqa: PLC0415

        items = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            items.append(self._value(event, depth))
        return items

    def _mapping(self, depth: int) -> dict[str, object]:
        from yaml.events import MappingEndEvent, ScalarEvent  # noqa: PLC0415

        items: dict[str, object] = {}
        merged: dict[str, object] = {}
        while not isinstance(key := self._next(), MappingEndEvent):
            if isinstance(key, ScalarEvent) and key.value == MERGE and key.implicit[0]:
                merged = {**_merged(self._value(self._next(), depth)), **merged}
            else:
                name = key_text(self._value(key, depth))
                items[name] = self._value(self._next(), depth)
        return {**merged, **items}


def _merged(found: object) -> dict[str, object]:
    """Return what a merge key brings: the first mapping that has a key counts."""
    merged: dict[str, object] = {}
    for one in found if isinstance(found, list) else [found]:
        if not isinstance(one, dict):
            raise UserError("the text must be YAML: a merge key needs a mapping")
        merged = {**one, **merged}
    return merged


def resolved(text: str) -> object:
    """Return what a plain scalar means: a moment stays a text, as does a number of base 60.

    >>> resolved("no"), resolved("0o17"), resolved("1e3"), resolved("12:30:45"), resolved("1_0")
    (False, 15, 1000, '12:30:45', 10)
    """
    if text in NAMED:
        return NAMED[text]
    if not text or text[0] not in "+-.0123456789" or len(text) > _MOST_DIGITS:
        return text
    plain = text.replace("_", "")
    if _MOMENT.fullmatch(text):
        return text
    if _INTEGER.fullmatch(plain):
        return _integer(plain)
    return _whole(float(plain)) if _FLOAT.fullmatch(plain) else text


def _integer(text: str) -> object:
    digits = text.lstrip("+-").lower()
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2], 8 if digits[0] == "0" else 10)
    number = int(digits[2:] if digits[:2] in ("0x", "0b", "0o") else digits, base)
    number = -number if text[0] == "-" else number
    return number if -(2**63) <= number < 2**64 else _whole(float(number))


def _whole(number: float) -> object:
    """Return a number as JSON has it: a whole one has no point."""
    if not math.isfinite(number):
        raise UserError(NOT_FINITE)
    return int(number) if number.is_integer() and abs(number) < 10.0**21 else number


def key_text(key: object) -> str:
    """Return the key of a mapping as JSON has it.

    Raises:
        UserError: JSON has none such.
    """
    match key:
        case bool():
            return "true" if key else "false"
        case str() | int():
            return str(key)
        case float():
            return float_text(key)
    raise UserError("the text must be YAML whose keys are texts or numbers")


def write_yaml(value: object) -> str:
    """Return a value of JSON as YAML: keys as Go sorts them, texts of several lines as blocks."""
    from yaml import emit  # noqa: PLC0415
    from yaml.cyaml import CDumper  # noqa: PLC0415
    from yaml.events import (  # noqa: PLC0415
        DocumentEndEvent,
        DocumentStartEvent,
        StreamEndEvent,
        StreamStartEvent,
    )

    events = [
        StreamStartEvent(),
        DocumentStartEvent(explicit=False),
        *_events(value),
        DocumentEndEvent(explicit=False),
        StreamEndEvent(),
    ]
    text: str = emit(events, Dumper=CDumper, width=WIDTH, allow_unicode=True)
    return text


def _events(value: object) -> Iterator[object]:
    from yaml.events import (  # noqa: PLC0415
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
    )

    if isinstance(value, Mapping):
        yield MappingStartEvent(None, None, implicit=True, flow_style=False)
        for key in sorted(value, key=cmp_to_key(compare_keys)):
            yield from _events(key)
            yield from _events(value[key])
        yield MappingEndEvent()
    elif isinstance(value, list):
        yield SequenceStartEvent(None, None, implicit=True, flow_style=False)
        for element in value:
            yield from _events(element)
        yield SequenceEndEvent()
    else:
        text, style = _scalar(value)
        yield ScalarEvent(None, None, (True, True), text, style=style)


def _scalar(value: object) -> tuple[str, str | None]:
    """Return the text of a scalar, and its style: `None` is plain where that can be read again."""
    match value:
        case None:
            return "null", None
        case bool():
            return ("true" if value else "false"), None
        case float():
            return float_text(value), None
        case str():
            if "\n" in value:
                return value, "|"
            return value, (None if _is_plain(value) else '"')
    return str(value), None


def _is_plain(text: str) -> bool:
    """Return whether a text is read again as itself where it has no quotes."""
    if _BASE_60.fullmatch(text) or _MOMENT.fullmatch(text) or text == MERGE:
        return False
    try:
        return isinstance(resolved(text), str)
    except UserError:  # a number, though none that JSON has
        return False


def compare_keys(one: str, other: str) -> int:
    """Return how Go sorts two keys: letters behind all else, numbers in them by value.

    Source: goyaml.v2 sorter.go `keyList.Less`.

    >>> sorted(["a10", "a2", "b", "1"], key=cmp_to_key(compare_keys))
    ['1', 'a2', 'a10', 'b']
    """
    return -1 if _is_less(one, other) else int(one != other)


def _is_less(one: str, other: str) -> bool:
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b:
            continue
        if a.isalpha() and b.isalpha():
            return a < b
        if a.isalpha() or b.isalpha():
            return b.isalpha()
        numbers = _number_at(one, at), _number_at(other, at)
        lead = _leads(one, at) if "0" in (a, b) else 0
        values = tuple(int(f"{lead or ''}{digits}" or 0) for digits in numbers)
        if values[0] != values[1]:
            return values[0] < values[1]
        if len(numbers[0]) != len(numbers[1]):
            return len(numbers[0]) < len(numbers[1])
        return a < b
    return len(one) < len(other)


def _number_at(text: str, at: int) -> str:
    match = re.compile(r"[0-9]{0,300}").match(text, at)
    return match.group() if match is not None else ""


def _leads(text: str, at: int) -> int:
    """Return 1 if digits before a place have one that is no zero, so that zeros count there."""
    while at > 0 and text[at - 1].isdecimal():
        at -= 1
        if text[at] != "0":
            return 1
    return 0
