"""Durations as Go writes them, such as `1h30m`; in nanoseconds, as Go counts them.

Source: go1.27 src/time/format.go `ParseDuration`.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from reconciler.errors import UserError

LONGEST = 2**63 - 1
"""Nanoseconds; upstream takes that for no limit at all."""

UNITS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
JSON_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "bool"),  # before numbers: it is one in Python
    ((int, float), "number"),
    (Mapping, "object"),
    (Sequence, "array"),
)
"""Go's words for the kinds of JSON values, but for text and null."""

_PART = re.compile(r"(\d*)(\.\d*)?([^.0-9]*)", re.ASCII)


def decode_duration(value: object) -> int:
    """Return a duration of a manifest in nanoseconds; null is read as empty text, as Go does.

    Raises:
        UserError: It is none; the message is that of Go.

    Source: k8s.io/apimachinery pkg/apis/meta/v1/duration.go `UnmarshalJSON`.
    """
    if value is None or isinstance(value, str):
        return parse_duration(value or "")
    kind = next(name for kinds, name in JSON_KINDS if isinstance(value, kinds))
    raise UserError(f"json: cannot unmarshal {kind} into Go value of type string")


def parse_duration(text: str) -> int:
    """Return a duration in nanoseconds.

    Raises:
        UserError: It is none; the message is that of Go.

    >>> parse_duration("1.5h") == 90 * 60 * 10**9
    True
    """
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    sign = -1 if text.startswith("-") else 1
    if unsigned == "0":
        return 0
    if not unsigned:
        raise UserError(f'time: invalid duration "{text}"')
    total, at = 0, 0
    while at < len(unsigned):
        part = _PART.match(unsigned, at)
        if part is None or not (part[1] or (part[2] or "")[1:]):
            raise UserError(f'time: invalid duration "{text}"')
        if not part[3]:
            raise UserError(f'time: missing unit in duration "{text}"')
        if part[3] not in UNITS:
            raise UserError(f'time: unknown unit "{part[3]}" in duration "{text}"')
        total += int(
            Fraction((part[1] or "0") + (part[2] or "") + "0" * (part[2] == ".")) * UNITS[part[3]]
        )
        at = part.end()
    if total > LONGEST:
        raise UserError(f'time: invalid duration "{text}"')
    return sign * total


def format_duration(nanoseconds: int) -> str:
    """Return a duration of no less than zero as Go writes it.

    >>> format_duration(5400 * 10**9), format_duration(45 * 10**9), format_duration(0)
    ('1h30m0s', '45s', '0s')
    >>> format_duration(1500 * 10**6), format_duration(250 * 10**6), format_duration(7)
    ('1.5s', '250ms', '7ns')

    Source: go1.27 src/time/time.go `Duration.String`.
    """
    if 0 < nanoseconds < UNITS["s"]:
        unit = next(name for name in ("ms", "\u00b5s", "ns") if nanoseconds >= UNITS[name])
        return _decimal(nanoseconds, UNITS[unit]) + unit
    minutes, rest = divmod(nanoseconds, UNITS["m"])
    seconds = _decimal(rest, UNITS["s"]) + "s"
    if not minutes:
        return seconds
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{seconds}" if hours else f"{minutes}m{seconds}"


def _decimal(number: int, unit: int) -> str:
    """Return so many of a unit, without zeros at the end of the fraction."""
    whole, rest = divmod(number, unit)
    digits = str(rest).zfill(len(str(unit)) - 1).rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
