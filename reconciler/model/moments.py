"""Moments: aware UTC datetimes of whole seconds, their RFC 3339 text, and stamps.

Kubernetes times have whole seconds; so has every moment in the core.
"""

from datetime import UTC, datetime
from functools import lru_cache


class Stamp(str):
    """The text of a moment that this pass sets.

    A desired file that differs from the present one in stamps alone is not written: see
    `core/changes.py`. A moment whose change must be written is a plain `str`.
    """

    __slots__ = ()


@lru_cache(maxsize=1 << 10)
def format_moment(moment: datetime) -> str:
    """Return the RFC 3339 text of an aware moment, in UTC, to the second; a year has four digits.

    >>> format_moment(datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
    '2026-11-20T12:00:00Z'
    >>> format_moment(datetime(1, 1, 1, tzinfo=UTC))
    '0001-01-01T00:00:00Z'
    """
    if moment.tzinfo is None:
        raise ValueError("a moment must be aware of its time zone")
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


@lru_cache(maxsize=1 << 14)  # the objects of one pass share its moment
def parse_moment(text: str) -> datetime:
    """Return the moment that an RFC 3339 text names, as aware UTC, cut to the second.

    Raises:
        ValueError: The text is not RFC 3339 with a zone.

    >>> parse_moment("2026-11-20T13:00:00.5+01:00")
    datetime.datetime(2026, 11, 20, 12, 0, tzinfo=datetime.timezone.utc)
    """
    return parse_instant(text).replace(microsecond=0)


def parse_instant(text: str) -> datetime:
    """Return the moment that an RFC 3339 text names, as aware UTC, with its microseconds.

    For moments that people or upstream's API give and that are only compared, never written.

    Raises:
        ValueError: The text is not RFC 3339 with a zone.

    >>> parse_instant("2026-11-20T12:00:00.5Z").microsecond
    500000
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f'"{text}" has no time zone; write it as 2026-01-02T15:04:05Z')
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f'"{text}" must be a moment of the years 1 to 9999 in UTC') from None


def is_moment(value: object) -> bool:
    """Say whether a value is the text of a moment.

    >>> is_moment("2026-11-20T12:00:00Z"), is_moment("yesterday")
    (True, False)
    """
    try:
        return isinstance(value, str) and parse_moment(value) is not None
    except ValueError:
        return False


def stamp(now: datetime) -> Stamp:
    """Return `now` as a stamp."""
    return Stamp(format_moment(now))


def earliest(*moments: datetime | None) -> datetime | None:
    """Return the earliest of the moments given, `None` if there is none."""
    return min((moment for moment in moments if moment is not None), default=None)
