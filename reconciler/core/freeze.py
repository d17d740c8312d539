"""Freeze windows, when rebalances and new placements wait, and suspensions that end by themselves.

Windows are cron expressions in UTC. A suspension that names a moment is over from then on: a pass
reads the object as if nothing of the sort stood there.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from reconciler.dialects.reads import FollowedIndex
from reconciler.manifests.admission import SUSPEND, SUSPEND_UNTIL
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body, may_say
from reconciler.model.fields import at, bodies, mapping, text, without
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, earliest, is_moment, parse_moment, span
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import branched
from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH, Settings
from reconciler.model.text import shown
from reconciler.model.world import Manifest, World
from reconciler.rebalance.schedule_trigger import due_run, is_schedule, next_run
from reconciler.rebalance.target import REBALANCER

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


def _suspended_until(body: Body) -> datetime | None:
    """Return when a suspension ends by itself, `None` where no moment can be read: then it stays.

    It is written beside what suspends: on the object, on a rebalancer or on the configuration.
    """
    written = at(body, "metadata", "annotations").get(SUSPEND_UNTIL)
    if not isinstance(written, str) or not is_moment(written):
        return None
    return parse_moment(written)


def _ends(_key: ObjectKey, manifest: Manifest) -> Iterator[str]:
    """Yield that an object says until when it is suspended; few documents are read for that."""
    if may_say(manifest.held, SUSPEND_UNTIL) and _suspended_until(manifest.body) is not None:
        yield SUSPEND_UNTIL


@dataclass(slots=True, eq=False)
class EndingSuspensions:
    """The objects that are suspended until a moment; it follows worlds."""

    _index: FollowedIndex[str, Manifest] = field(default_factory=lambda: FollowedIndex(_ends))
    _last: tuple[World, frozenset[ObjectKey], World] | None = None

    def resumed(self, world: World, now: datetime) -> tuple[World, datetime | None]:
        """Return a world in which nothing is suspended that is over, and when the next one is.

        The very same world if none is over; `None` if none ends by itself.
        """
        ends = self._moments(world)
        next_end = min((moment for moment in ends.values() if moment > now), default=None)
        over = frozenset(key for key, moment in ends.items() if moment <= now)
        if not over:
            return world, next_end
        if self._last is None or self._last[0] is not world or self._last[1] != over:
            came = {key: _resumed(world.inputs[key]) for key in over}
            inputs = branched(world.inputs, came)
            self._last = world, over, replace(world, inputs=inputs, kinds=world.kinds.next())
        return self._last[2], next_end

    def _moments(self, world: World) -> Mapping[ObjectKey, datetime]:
        """Return when each of them ends."""
        self._index.follow(world.inputs)
        ends = (
            (key, _suspended_until(one.body))
            for key, one in self._index.found(SUSPEND_UNTIL).items()
        )
        return {key: moment for key, moment in ends if moment is not None}


def _resumed(manifest: Manifest) -> Manifest:
    """Return an object that is not suspended."""
    if manifest.key[:2] in (CONFIGURATION, REBALANCER):
        return replace(manifest, held=without(manifest.body, ("spec", "suspend")))
    return replace(manifest, held=without(manifest.body, ("metadata", "annotations", SUSPEND)))
