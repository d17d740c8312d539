"""Values of CEL as texts: `format` and `strings.quote`.

Source: cel-go ext/formatting.go and ext/strings.go `quote`.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from reconciler.dialects.ocm.cel import times
from reconciler.dialects.ocm.cel.budget import refuse_length
from reconciler.dialects.ocm.cel.values import (
    NUMBERS,
    CelError,
    CelType,
    Duration,
    Timestamp,
    of_key,
)
from reconciler.model.float_text import plain_text

_CLAUSE = re.compile(r"%(?:(%)|(?:\.(\d*))?(.))", re.DOTALL)
MOST_DIGITS = 3  # of how many places a number has
DEFAULT_PLACES = 6
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quoted(text: str) -> str:
    r"""Return a text in double quotes.

    >>> print(quoted('a"b'))
    "a\"b"
    """
    return f'"{"".join(_QUOTED.get(one, one) for one in text)}"'


def formatted(text: str, arguments: list[object]) -> str:
    """Return a text with its clauses filled.

    Raises:
        CelError: A clause is none, or its argument is missing or of the wrong type.
    """
    given = iter(arguments)
    pieces = list(_pieces(text, given))
    refuse_length(sum(map(len, pieces)))
    return "".join(pieces)


def _pieces(text: str, given: Iterator[object]) -> Iterator[str]:
    end = 0
    for found in _CLAUSE.finditer(text):
        yield text[end : found.start()]
        end = found.end()
        if found[1]:
            yield "%"
            continue
        try:
            value = next(given)
        except StopIteration:
            raise CelError("index out of range") from None
        yield _clause(found[3], value, found[2])
    if "%" in text[end:]:
        raise CelError("unexpected end of string")
    yield text[end:]


def _clause(kind: str, value: Any, places: str | None) -> str:  # noqa: C901  # a row a clause
    number = type(value) in NUMBERS
    whole = number and not isinstance(value, float)
    if places and len(places) > MOST_DIGITS:
        raise CelError("precision is too large")
    digits = int(places) if places else DEFAULT_PLACES
    match kind:
        case "s":
            return shown(value)
        case "d" if whole:
            return str(value)
        case "d" if number and not math.isfinite(value):
            return _odd(value)
        case "f" | "e" if number:
            if not math.isfinite(value):
                return _odd(value)
            return f"{float(value):.{digits}{kind}}"
        case "b" if isinstance(value, bool):
            return str(int(value))
        case "b" | "o" if whole:
            return format(int(value), kind)
        case "x" | "X" if whole:
            return format(int(value), kind)
        case "x" | "X" if isinstance(value, str | bytes):
            found = (value.encode() if isinstance(value, str) else value).hex()
            return found.upper() if kind == "X" else found
    raise CelError("error during formatting: the argument is of another type than its clause")


def _odd(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def shown(value: Any) -> str:  # noqa: C901  # a row a type
    """Return what `%s` makes of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case bytes():
            return value.decode(errors="replace")
        case float():
            return plain_text(value) if math.isfinite(value) else _odd(value)
        case int():
            return str(int(value))
        case CelType():
            return value.name
        case Timestamp():
            return times.timestamp_text(value)
        case Duration():
            return times.duration_text(value)
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case dict():
            entries = sorted((shown(of_key(key)), shown(one)) for key, one in value.items())
            return f"{{{', '.join(f'{key}: {one}' for key, one in entries)}}}"
    raise CelError("error during formatting: string clause can only be used on known types")
