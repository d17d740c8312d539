"""Recurring rebalances: which run is due, by a cron expression in UTC."""

import re
from collections.abc import Iterator
from datetime import datetime

from cronsim import CronSim, CronSimError

from reconciler.model.moments import add

_PLAIN = re.compile(r"[0-9*/,\-]+( [0-9*/,\-]+){2} [0-9A-Za-z*/,\-]+ [0-9A-Za-z*/,\-]+")


def is_schedule(expression: str) -> bool:
    """Return whether an expression has five fields of cron and ever comes true.

    >>> is_schedule("0 3 * * SUN"), is_schedule("0 0 31 2 *"), is_schedule("@daily")
    (True, False, False)
    """
    if not _PLAIN.fullmatch(expression):
        return False
    try:
        next(CronSim(expression, datetime.fromisoformat("2000-01-01T00:00:00Z")))
    except (CronSimError, StopIteration):
        return False
    return True


def due_run(expression: str, after: datetime, now: datetime) -> datetime | None:
    """Return the latest moment of a schedule within (after, now], `None` if there is none.

    Runs that were missed, since no pass looked, are made up for once.
    """
    latest = _first(CronSim(expression, add(now), reverse=True))
    return latest if latest is not None and latest > after else None


def next_run(expression: str, now: datetime) -> datetime | None:
    """Return the first moment of a schedule after `now`, `None` if there is none."""
    return _first(CronSim(expression, now))


def _first(moments: Iterator[datetime]) -> datetime | None:
    """Return the first of the moments, `None` if there is none within the calendar."""
    try:
        return next(moments, None)
    except OverflowError:  # beyond either end of the calendar
        return None
