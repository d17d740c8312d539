"""Recurring rebalances: which run is due, by a cron expression in UTC."""

import re
from datetime import datetime, timedelta

from cronsim import CronSim, CronSimError

_PLAIN = re.compile(r"[0-9*/,\-]+( [0-9*/,\-]+){2} [0-9A-Za-z*/,\-]+ [0-9A-Za-z*/,\-]+")
_SECOND = timedelta(seconds=1)


def is_schedule(expression: str) -> bool:
    """Say whether an expression has five fields of cron and ever comes true.

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

    Runs that were missed, since nobody looked, are made up for once.
    """
    try:
        latest: datetime = next(CronSim(expression, now + _SECOND, reverse=True))
    except StopIteration:
        return None
    return latest if latest > after else None


def next_run(expression: str, now: datetime) -> datetime | None:
    """Return the first moment of a schedule after `now`, `None` if there is none."""
    found: datetime | None = next(CronSim(expression, now), None)
    return found
