"""Freeze windows: when rebalances and new placements wait, by cron expressions in UTC."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.moments import add, earliest, span
from reconciler.model.settings import CONFIGURATION_PATH, Settings
from reconciler.model.text import shown
from reconciler.rebalance.schedule_trigger import due_run, is_schedule, next_run

SECTION = "freeze"


@dataclass(frozen=True, slots=True)
class Window:
    """A freeze begins at each moment of a schedule, and lasts so long."""

    schedule: str
    duration: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """The windows of a repository, and whether failover waits in them, too."""

    windows: tuple[Window, ...] = ()
    holds_failover: bool = False

    def ends_at(self, now: datetime) -> datetime | None:
        """Return when the freeze is over that lasts at a moment, `None` if none does."""
        ends = []
        for window in self.windows:
            begun = due_run(window.schedule, add(now, -window.duration), now)
            if begun is not None:
                ends.append(add(begun, window.duration))
        return max(ends, default=None)

    def next_start(self, now: datetime) -> datetime | None:
        """Return when the next freeze begins, `None` if none does."""
        return earliest(*(next_run(window.schedule, now) for window in self.windows))


def decode_freeze(settings: Settings) -> Freeze:
    """Return what a validated configuration says of freezes."""
    body = settings.options.get(SECTION, {})
    return Freeze(
        windows=tuple(
            Window(text(one, "schedule"), _duration(text(one, "duration")))
            for one in bodies(body, "windows")
        ),
        holds_failover=text(body, "failover") == "hold",
    )


def refuse_configuration(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with the freezes of a configuration."""
    windows = bodies(mapping(mapping(body, "spec"), SECTION), "windows")
    return tuple(
        Violation(
            f"/spec/{SECTION}/windows/{position}/schedule",
            "freeze-schedule",
            f"{shown(text(one, 'schedule'))} in {CONFIGURATION_PATH} must be a cron expression of "
            "five fields that comes true",
            '"0 18 * * FRI" for Fridays at six, UTC',
        )
        for position, one in enumerate(windows)
        if not is_schedule(text(one, "schedule"))
    )


def _duration(written: str) -> timedelta:
    """Return a duration of minutes or hours as the schema lets it through, such as `90m`."""
    number = int(written[:-1])
    return span(minutes=number * (60 if written.endswith("h") else 1))
