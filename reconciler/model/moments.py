"""Moments: aware UTC datetimes of whole seconds, their RFC 3339 text, and stamps.

Kubernetes times have whole seconds; so has every moment in the core.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from reconciler.model.text import shown

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)
"""The ends of the calendar: a year has four digits. People write the last for "for ever"."""

_CALENDAR = LAST - FIRST
_MICROSECONDS = _CALENDAR // timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


class Stamp(str):
    """The text of a moment that this pass sets.

    A desired file that differs from the present one in stamps alone is not written: see
    `model/body.py`. A moment whose change must be written is a plain `str`.
    """

    __slots__ = ()


@lru_cache(maxsize=1 << 12)  # the objects of one pass share its moment
def format_moment(moment: datetime) -> str:
    """Return the RFC 3339 text of an aware moment, in UTC, to the second; a year has four digits.

    >>> format_moment(datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
    '2026-11-20T12:00:00Z'
    >>> format_moment(datetime(1, 1, 1, tzinfo=UTC))
    '0001-01-01T00:00:00Z'
    """
    if moment.tzinfo is None:
        raise ValueError("a moment must be aware of its time zone")
    there = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{there.isoformat(timespec='seconds')[:-6]}Z"  # without +00:00


@lru_cache(maxsize=1 << 12)  # the objects of one pass share its moment
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
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{shown(text)} is no moment; write it as 2026-01-02T15:04:05Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"{shown(text)} has no time zone; write it as 2026-01-02T15:04:05Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{shown(text)} must be a moment of the years 1 to 9999 in UTC") from None


def is_moment(value: object) -> bool:
    """Return whether a value is the text of a moment.

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


def span(*, minutes: int = 0, seconds: int = 0, microseconds: int = 0) -> timedelta:
    """Return a duration, cut to the length of the calendar in either direction.

    Numbers that people write may be as large as an integer gets; `timedelta` would not hold them.

    >>> span(minutes=1, seconds=30), span(seconds=10**30) == LAST - FIRST
    (datetime.timedelta(seconds=90), True)
    """
    wanted = (60 * minutes + seconds) * 10**6 + microseconds
    return timedelta(microseconds=max(-_MICROSECONDS, min(wanted, _MICROSECONDS)))


def add(moment: datetime, duration: timedelta = _SECOND) -> datetime:
    """Return the moment later by a duration, one second if none is given; within the calendar.

    It ends at `LAST` and at `FIRST`: a toleration that would end later never ends.

    >>> add(LAST) == LAST, add(FIRST, span(seconds=-1)) == FIRST
    (True, True)
    >>> format_moment(add(parse_moment("2026-11-20T12:00:00Z"), span(minutes=5)))
    '2026-11-20T12:05:00Z'
    """
    if duration > LAST - moment:
        return LAST
    return FIRST if duration < FIRST - moment else moment + duration


def ceiling(moment: datetime | None) -> datetime | None:
    """Return the first whole second that is not before a moment."""
    if moment is None or not moment.microsecond:
        return moment
    return second_after(moment)


def second_after(moment: datetime) -> datetime | None:
    """Return the first whole second after a moment, `None` for the last second of all time."""
    moment = moment.replace(microsecond=0)
    return add(moment) if moment < LAST else None


def earliest(*moments: datetime | None) -> datetime | None:
    """Return the earliest of the moments given, `None` if there is none."""
    return min([moment for moment in moments if moment is not None], default=None)
