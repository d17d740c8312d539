"""Bodies to canonical block YAML: byte-stable, and the same to readers of YAML 1.1 and 1.2.

No library writes the output, so none can rewrite every file by an upgrade.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeGuard

from reconciler.manifests.text.limits import MAX_DEPTH, MAX_DIGITS

LONGEST_PLAIN = 128  # characters; longer text is quoted
LONGEST_KEPT = 1000  # of longer text it is not remembered how it is written
LONGEST_KEY = 1000  # written characters; YAML finds the colon behind at most 1024
PLAIN = re.compile(
    r"(?:[A-Za-z/]|_[A-Za-z])"  # YAML 1.1 has numbers that start with an underscore
    r"(?:[A-Za-z0-9_./+@=(),;*$~^'-]|:(?=[^ ])| (?=[^ #]))*"
)
LARGEST = 10 ** (MAX_DIGITS - 1)
SCALARS = frozenset({str, int, bool, float, type(None)})
WORDS_1_1 = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}  # any capitals
ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
SURROGATE = re.compile("[\ud800-\udfff]")
_in_quotes = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` makes one for each text


def encode(body: Mapping[str, object]) -> str:
    r"""Return a body as YAML text.

    Args:
        body: Mappings with text keys, lists, tuples, text, integers, finite floats, booleans and
            `None`, at most 64 levels deep. Keys are written in the order given.

    Returns:
        Block style, two blanks a level, list items level with their key, `\n` at the end of each
        line, no line folded.

    Raises:
        ValueError: A value is of another type, is no finite number, has more than 100 digits or
            half of a surrogate pair, or the body is too deep.

    Source: ours; libraries leave text unquoted that YAML 1.1 or 1.2 reads as something else.

    >>> print(encode({"kind": "A", "on": ["yes", 1, {"b": {}, "c": None}]}), end="")
    kind: A
    "on":
    - "yes"
    - 1
    - b: {}
      c: null
    """
    if not body:
        return "{}\n"
    parts: list[str] = []
    _write_mapping(body, "", parts, 1)
    return "".join(parts)


def _write_mapping(body: Mapping[str, object], indent: str, parts: list[str], depth: int) -> None:
    """Write the entries; the first one's indent is already there if it follows a dash."""
    if depth > MAX_DEPTH:
        raise ValueError(f"a body must be at most {MAX_DEPTH} levels deep")
    lead = ""
    for key, value in body.items():
        if not isinstance(key, str):
            raise ValueError(f"a key must be text, not {type(key).__name__}")  # noqa: TRY004
        written = _remembered(key) if len(key) <= LONGEST_PLAIN else _quoted(key)
        if len(written) > LONGEST_KEY:
            written = f"? {written}\n{indent}"
        if type(value) is str and len(value) <= LONGEST_PLAIN:  # the usual case, and faster
            parts.append(f"{lead}{written}: {_remembered(value)}\n")
        elif value and isinstance(value, list | tuple):
            parts.append(f"{lead}{written}:\n")
            _write_items(value, indent, parts, depth + 1, indent)
        elif value and type(value) not in SCALARS and _is_mapping(value):
            parts.append(f"{lead}{written}:\n{indent}  ")
            _write_mapping(value, indent + "  ", parts, depth + 1)
        else:
            parts.append(f"{lead}{written}: {encode_scalar(value)}\n")
        lead = indent


def _write_items(
    items: list[object] | tuple[object, ...], indent: str, parts: list[str], depth: int, lead: str
) -> None:
    """Write the items; `lead` is what stands before the first one's dash."""
    if depth > MAX_DEPTH:
        raise ValueError(f"a body must be at most {MAX_DEPTH} levels deep")
    inner = indent + "  "
    for item in items:
        parts.append(f"{lead}- ")
        lead = indent
        if item and isinstance(item, list | tuple):
            _write_items(item, inner, parts, depth + 1, "")
        elif item and type(item) not in SCALARS and _is_mapping(item):
            _write_mapping(item, inner, parts, depth + 1)
        else:
            parts.append(f"{encode_scalar(item)}\n")


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return type(value) is dict or isinstance(value, Mapping)  # the first is faster


def encode_scalar(value: object) -> str:
    """Return a scalar or an empty collection as `encode` writes it."""
    if type(value) is int and -LARGEST < value < LARGEST:  # the usual case, and faster
        return f"{value}"
    if isinstance(value, str):
        return _written_text(value)
    if isinstance(value, int):
        if isinstance(value, bool):
            return "true" if value else "false"
        return _written_integer(value)
    if value is None:
        return "null"
    if isinstance(value, float):
        return _written_float(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    raise ValueError(f"a body must not have a {type(value).__name__}")


def _written_integer(value: int) -> str:
    if abs(value) >= LARGEST:
        raise ValueError(f"an integer must have fewer than {MAX_DIGITS} digits")
    return int.__repr__(value)


def _written_float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("a float must be finite")
    text = float.__repr__(value)
    if "." not in text:  # "1e+22" is text in YAML 1.1
        text = text.replace("e", ".0e")
    return text


def _written_text(text: str) -> str:
    """Return text plain or in double quotes; stamps and other subclasses as plain text."""
    return _remembered(text) if len(text) <= LONGEST_PLAIN else _quoted(text)


@lru_cache(maxsize=1 << 15)  # the files of clusters name the same objects one after the other
def _remembered(text: str) -> str:
    if PLAIN.fullmatch(text) and text.lower() not in WORDS_1_1:
        return str.__str__(text)
    return _quoted(text)


def _quoted(text: str) -> str:
    """Return text in double quotes."""
    return _escaped(text) if len(text) > LONGEST_KEPT else _kept(text)


@lru_cache(maxsize=1 << 10)
def _kept(text: str) -> str:
    return _escaped(text)


def _escaped(text: str) -> str:
    """Return text in double quotes, with JSON's escapes: YAML knows them all."""
    if SURROGATE.search(text):
        raise ValueError("text must not have half of a surrogate pair")
    return ESCAPED.sub(_escape, _in_quotes(str.__str__(text)))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
