"""Documents to text: one canonical YAML that reads the same under YAML 1.1 and 1.2.

The bytes follow from the value alone, not from the version of a library: an upgrade can never
rewrite a hundred thousand files.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

_PLAIN = re.compile(
    r"[A-Za-z_/]([A-Za-z0-9_./@%^(){}|,;!?+*~$-]|:(?=[A-Za-z0-9_./-])| (?=[A-Za-z0-9_./(]))*"
)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})
_ESCAPED = re.compile(
    "[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\uffff]"
)
_ASTRAL = 0xFFFF
LONGEST_PLAIN = 200


def encode(body: Mapping[str, object]) -> str:
    r"""Return the text of a document: block style, keys in the order given, final newline.

    Args:
        body: Mappings with text keys, lists or tuples, texts, integers, finite floats, booleans
            and `None`.

    Raises:
        ValueError: Something else is in it.

    >>> encode({"a": {"b": ["x", "yes", 1]}})
    'a:\n  b:\n  - x\n  - "yes"\n  - 1\n'
    """
    if not body:
        return "{}\n"
    return "\n".join(_mapping(body, "")) + "\n"


def _mapping(body: Mapping[str, object], indent: str) -> Iterator[str]:
    """Yield the lines of a mapping that is not empty."""
    for key, value in body.items():
        if not isinstance(key, str):
            raise ValueError(f"a key must be a text, this one is {key!r}")  # noqa: TRY004
        name = _text(str(key))
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}:"
            yield from _mapping(value, f"{indent}  ")
        elif isinstance(value, list | tuple) and value:
            yield f"{indent}{name}:"
            yield from _sequence(value, indent)
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _sequence(items: list[object] | tuple[object, ...], indent: str) -> Iterator[str]:
    """Yield the lines of a list that is not empty; dashes stand at the parent's indent."""
    for item in items:
        inner: Iterator[str]
        if isinstance(item, Mapping) and item:
            inner = _mapping(item, f"{indent}  ")
        elif isinstance(item, list | tuple) and item:
            inner = _sequence(item, f"{indent}  ")
        else:
            yield f"{indent}- {_scalar(item)}"
            continue
        first = next(inner)
        yield f"{indent}- {first[len(indent) + 2 :]}"
        yield from inner


def _scalar(value: object) -> str:
    """Return the text of what has no lines of its own."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _text(str(value))
        case float() if math.isfinite(value):
            return _float(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
        case _:
            raise ValueError(f"{value!r} cannot be written as YAML")


def _float(value: float) -> str:
    """Return a float such that every reader takes it for one: with point and signed exponent."""
    text = repr(value)
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        sign = "" if exponent[0] in "+-" else "+"
        return f"{mantissa}{'' if '.' in mantissa else '.0'}e{sign}{exponent}"
    return text


@lru_cache(maxsize=65536)
def _text(text: str) -> str:
    """Return a text, in quotes unless it is plainly a word to every reader."""
    if (
        len(text) <= LONGEST_PLAIN
        and _PLAIN.fullmatch(text)
        and text.lower() not in _WORDS
        and not text.endswith(" ")
    ):
        return text
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    """Return the escape of a character that a reader or a terminal may not take."""
    return f"\\u{ord(found[0]):04x}"
