"""Moments and time spans of CEL.

Source: cel-go common/types/timestamp.go and duration.go; Go time `ParseDuration`.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TypeVar
from zoneinfo import ZoneInfo

from reconciler.dialects.ocm.cel.values import INT, CelError, Duration, Timestamp

T = TypeVar("T", Duration, Timestamp)
SECOND = 10**9
LONGEST = 100  # characters of a moment or a time span
UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
LEAST, MOST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1  # the years 1 to 9999
_DURATION = re.compile(r"([-+]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)", re.ASCII)
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII
)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def in_range(found: T) -> T:
    """Return a moment or a time span that CEL can hold.

    Raises:
        CelError: It cannot.
    """
    if isinstance(found, Duration) and found.nanos not in INT:
        raise CelError("duration out of range")
    if isinstance(found, Timestamp) and not LEAST <= found.nanos <= MOST:
        raise CelError("timestamp out of range")
    return found


def parse_duration(text: str) -> Duration:
    """Return the time span of a text such as `1h30m`.

    Raises:
        CelError: It is none.
    """
    found = _DURATION.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        raise CelError("time: invalid duration")
    nanos = 0
    for whole, fraction, unit in _PART.findall(found[2]):
        size = UNITS[unit]
        nanos += int(whole or 0) * size + (
            int(fraction) * size // 10 ** len(fraction) if fraction else 0
        )
    return in_range(Duration(-nanos if found[1] == "-" else nanos))


def parse_timestamp(text: str) -> Timestamp:
    """Return the moment of a text of RFC 3339.

    Raises:
        CelError: It is none.
    """
    found = _TIMESTAMP.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        raise CelError("the text is no timestamp")
    try:
        zone = "+00:00" if found[3] == "Z" else found[3]
        moment = datetime.fromisoformat(f"{found[1]}{zone}")
        seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise CelError("the text is no timestamp") from None
    nanos = int((found[2] or "").ljust(9, "0")[:9])
    return in_range(Timestamp(seconds * SECOND + nanos))


def timestamp_text(one: Timestamp) -> str:
    """Return a moment as RFC 3339 has it, in UTC."""
    rest = one.nanos % SECOND
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{one.moment.replace(microsecond=0, tzinfo=None).isoformat()}{fraction}Z"


def duration_text(one: Duration) -> str:
    """Return a time span in seconds."""
    whole, rest = divmod(abs(one.nanos), SECOND)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' * (one.nanos < 0)}{whole}{fraction}s"


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        from datetime import timezone  # noqa: PLC0415  # only where a zone is an offset

        return timezone(-span if offset[1] == "-" else span)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise CelError("unknown time zone") from None


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def part(one: Timestamp, zone: str = "UTC") -> int:
        try:
            return read(one.moment.astimezone(_zone(zone)))
        except OverflowError:
            raise CelError("timestamp out of range") from None

    return part


PARTS: Mapping[str, Callable[..., int]] = {
    "getFullYear": _part(lambda at: at.year),
    "getMonth": _part(lambda at: at.month - 1),
    "getDayOfYear": _part(lambda at: at.timetuple().tm_yday - 1),
    "getDayOfMonth": _part(lambda at: at.day - 1),
    "getDate": _part(lambda at: at.day),
    "getDayOfWeek": _part(lambda at: at.isoweekday() % 7),
    "getHours": _part(lambda at: at.hour),
    "getMinutes": _part(lambda at: at.minute),
    "getSeconds": _part(lambda at: at.second),
    "getMilliseconds": _part(lambda at: at.microsecond // 1000),
}
PARTS_OF_DURATION: Mapping[str, Callable[[Duration], int]] = {
    "getHours": lambda one: _towards_zero(one, 3600 * SECOND),
    "getMinutes": lambda one: _towards_zero(one, 60 * SECOND),
    "getSeconds": lambda one: _towards_zero(one, SECOND),
    "getMilliseconds": lambda one: _towards_zero(one, 10**6) % 1000,
}


def _towards_zero(one: Duration, unit: int) -> int:
    found = abs(one.nanos) // unit
    return -found if one.nanos < 0 else found
