"""The way back from what `encode` writes, line by line and four times as fast as reading YAML.

Text is accepted only if it is to the letter what `encode` writes of the body that is returned, so
a file that a person touched is left to the strict reader, and no pass has to encode an untouched
one to see that it is as it should be.
"""

import json
import re
from functools import lru_cache
from typing import Any, Final

from reconciler.manifests.text.emitter import LONGEST_KEY, encode_scalar
from reconciler.manifests.text.raw import MAX_BYTES, MAX_DIGITS, MAX_NODES
from reconciler.manifests.text.reader import SHORT

SMALL_BYTES = 1 << 17  # a file up to here cannot have more nodes than the strict reader takes
MAX_COLUMN = 60  # nesting adds two columns for a mapping, or for a list with the mapping in it
REMEMBERED = 200  # characters: most lines up to here stand in many files
NESTED: Final = object()
KEYED = re.compile(r'("(?:[^"\\]|\\.)*"|[^"].*?):(?: (.+))?')  # a key, and its value if it is here
PLAINLY_QUOTED = re.compile(r'"[ !#-\[\]-~]*"')  # no escapes, and nothing that has to have one
NUMBER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}(?:\.[0-9]+(?:e[+-][0-9]+)?)?")
CONSTANTS: dict[str, object] = {"null": None, "true": True, "false": False, "{}": {}, "[]": []}

Row = tuple[int, int, str | None, Any, str]
"""One line: its column, its dashes, a key, a value or both, and its text.

`NESTED` stands for what follows. The column is that of the first dash or of the key.
"""

END: Row = (-1, 0, None, NESTED, "")


class _Foreign(Exception):  # it never leaves this file
    """The text is not what `encode` writes."""


def read_canonical(data: bytes) -> dict[str, object] | None:
    r"""Return the body that `encode` writes as these very bytes, `None` if there may be none.

    Those that are nested very deeply, have very long keys or are very large are not read here, nor
    is an empty body.

    >>> read_canonical(b"kind: A\nitems:\n- 1\n- name: a\n")
    {'kind': 'A', 'items': [1, {'name': 'a'}]}
    >>> read_canonical(b"kind: 'A'\n") is None
    True
    """
    if not data.endswith(b"\n"):
        return None
    try:
        rows = [_row_of(line) for line in data[:-1].decode().split("\n")]
        rows.append(END)
        if rows[0][:2] != (0, 0) or (len(data) > SMALL_BYTES and _is_too_large(rows, data)):
            return None
        body, end = _mapping(rows, 0, 0)
    except (_Foreign, ValueError):  # ValueError: no UTF-8, no JSON, or nothing to be written
        return None
    return body if rows[end] is END else None


def _is_too_large(rows: list[Row], data: bytes) -> bool:
    """Return whether the strict reader might refuse the file; each line and each dash is a node."""
    nodes = len(rows) + sum(row[1] for row in rows) + len(data) // SHORT
    return len(data) > MAX_BYTES or nodes > MAX_NODES


def _mapping(rows: list[Row], at: int, column: int) -> tuple[dict[str, object], int]:
    """Return the mapping whose first key is in the given row, and the row behind it."""
    body: dict[str, object] = {}
    _, _, key, value, _ = rows[at]
    while True:
        if key is None or key in body:
            raise _Foreign
        at += 1
        if value is NESTED:
            value, at = _nested(rows, at, column)
        body[key] = value
        indent, dashes, key, value, _ = rows[at]
        if indent != column or dashes:
            return body, at


def _nested(rows: list[Row], at: int, column: int) -> tuple[object, int]:
    """Return what follows a key that stands at a column: a list there, or an indented mapping."""
    indent, dashes, _, _, _ = rows[at]
    if dashes and indent == column:
        return _sequence(rows, at, column, 0)
    if not dashes and indent == column + 2:
        return _mapping(rows, at, indent)
    raise _Foreign


def _sequence(rows: list[Row], at: int, column: int, outer: int) -> tuple[list[object], int]:
    """Return the list whose dashes stand at a column; in its first row others may be before."""
    items: list[object] = []
    while True:
        _, dashes, key, value, _ = rows[at]
        if dashes > outer + 1:
            value, at = _sequence(rows, at, column + 2, outer + 1)
        elif key is None:
            at += 1
        elif (end := _flat_until(rows, at, column + 2)) is not None:
            value, at = _flat(tuple([row[4] for row in rows[at:end]])), end
        else:
            value, at = _mapping(rows, at, column + 2)
        items.append(value)
        indent, dashes, _, _, _ = rows[at]
        if indent != column or not dashes:
            return items, at
        outer = 0


def _flat_until(rows: list[Row], at: int, column: int) -> int | None:
    """Return the row behind an item, `None` if something is nested in it."""
    end = at
    while True:
        if rows[end][3] is NESTED:
            return None
        end += 1
        indent, dashes, key, _, _ = rows[end]
        if indent != column or dashes or key is None:
            return end


@lru_cache(maxsize=1 << 12)
def _flat(lines: tuple[str, ...]) -> dict[str, object]:
    """Return an item in which nothing is nested; one that is written alike is the same object.

    Thousands of bindings name the same clusters with the same few numbers.
    """
    body: dict[str, object] = {}
    for line in lines:
        _, _, key, value, _ = _row_of(line)
        if key is None or key in body:
            raise _Foreign
        body[key] = value
    return body


def _row_of(line: str) -> Row:
    """Return what stands in a line, of a short one the same row each time."""
    return _remembered(line) if len(line) <= REMEMBERED else _row(line)


def _row(line: str) -> Row:
    rest = line.lstrip(" ")
    column = len(line) - len(rest)
    dashes = 0
    while rest.startswith("- "):
        rest = rest[2:]
        dashes += 1
    if column + 2 * dashes > MAX_COLUMN:
        raise _Foreign
    keyed = KEYED.fullmatch(rest)
    if keyed is None:
        return column, dashes, None, _scalar(rest), line
    key, behind = keyed.groups()
    return column, dashes, _text(key), NESTED if behind is None else _scalar(behind), line


def _text(written: str) -> str:
    """Return text that is written so."""
    value = _scalar(written)
    if not isinstance(value, str) or len(written) > LONGEST_KEY:
        raise _Foreign
    return value


def _scalar(written: str) -> object:
    """Return what is written so, and only so."""
    value: object = written
    if PLAINLY_QUOTED.fullmatch(written):
        value = written[1:-1]
    elif written.startswith('"'):
        value = json.loads(written)
    elif written in CONSTANTS:
        value = CONSTANTS[written]
    elif NUMBER.fullmatch(written):
        value = float(written) if "." in written else int(written)
    if encode_scalar(value) != written:
        raise _Foreign
    return value


_remembered = lru_cache(maxsize=1 << 12)(_row)  # what repeats is asked for again and again
