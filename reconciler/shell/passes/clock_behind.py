"""A clock that is not later than the last pass: waited for shortly, else told."""

from collections.abc import Callable
from datetime import datetime, timedelta

from reconciler.core.record import last_pass
from reconciler.errors import ShellError
from reconciler.model.moments import format_moment
from reconciler.model.world import World
from reconciler.shell.clock import Clock

SHORT_WAIT = timedelta(seconds=5)  # a clock this far behind is waited for
LONG_WAIT = timedelta(minutes=5)  # a clock further behind than this needs a person


class ClockBehind(ShellError):
    """The clock is not later than the last pass, by more than is worth waiting for."""


def later(world: World, at: datetime) -> datetime:
    """Return a moment that a person chose, if it is later than the last pass."""
    last = last_pass(world.outputs)
    if last is not None and at <= last.at:
        raise ClockBehind(
            f"{format_moment(at)} is not later than the last pass at {format_moment(last.at)}"
        )
    return at


def behind(last: datetime, now: datetime) -> str:
    """Return how far the clock is behind, and who must act."""
    seconds = int((last - now).total_seconds())
    gap = f"the clock says {format_moment(now)}, the last pass was at {format_moment(last)}"
    if last - now > LONG_WAIT:
        return (
            f"{gap}: {seconds} s ahead. Set the clock right, or restore `lastPassAt` in the "
            "reconciler.yaml of the outputs"
        )
    return f"{gap}; nothing is committed for {seconds} s, until the clock has caught up"


def moment_of_pass(world: World, clock: Clock, pause: Callable[[float], None]) -> datetime:
    """Return the clock's moment, waiting shortly until it is later than the last pass.

    Args:
        world: What the pass looks at.
        clock: Where `now` comes from.
        pause: Waits for a number of seconds.

    Raises:
        ClockBehind: It will not be later within a short wait.
    """
    last = last_pass(world.outputs)
    now = clock.now()
    if last is None or now > last.at:
        return now
    if last.at - now > SHORT_WAIT:
        raise ClockBehind(behind(last.at, now))
    while now <= last.at:
        pause((last.at - now).total_seconds() + 1 if now < last.at else 0.05)
        now = clock.now()
    return now
