"""How many copies there are, and how they are; counted anew where they may be otherwise."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.delivered_copies import CopiesOf
from reconciler.core.asked.affected_objects import affected_since
from reconciler.core.asked.alone import AskedAlone
from reconciler.core.dialects import PLACED
from reconciler.dialects.alone import DependsOnOthers
from reconciler.dialects.copy_status import Report
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyCounts:
    """How many copies there are that stay, and how many of them are how.

    `unjudged` are those of kinds without any notion of health, that are reported.
    """

    healthy: int
    unhealthy: int
    unjudged: int
    assumed: int
    silent: int

    @property
    def copies(self) -> int:
        """How many there are."""
        return self.healthy + self.unhealthy + self.unjudged + self.assumed + self.silent

    def changed(self, before: "CopyCounts", now: "CopyCounts") -> "CopyCounts":
        """Return these, where some of them were counted before and are counted again."""
        return CopyCounts(
            healthy=self.healthy - before.healthy + now.healthy,
            unhealthy=self.unhealthy - before.unhealthy + now.unhealthy,
            unjudged=self.unjudged - before.unjudged + now.unjudged,
            assumed=self.assumed - before.assumed + now.assumed,
            silent=self.silent - before.silent + now.silent,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWorld:
    """A world whose copies were counted; time alone brings no other count.

    Attributes:
        world: All there is.
        counts: Of its copies.
        at: The moment from which on they are so many, aware UTC.
    """

    world: World
    counts: CopyCounts
    at: datetime


def count_copies(world: World, now: datetime, known: CountedWorld | None = None) -> CopyCounts:
    """Return how many copies there are, whether delivered or not, as they are by now.

    Args:
        world: That is asked about.
        now: Moment of the question, aware UTC.
        known: Another one of the same repository, if one was counted; it only saves work.
    """
    if known is not None and now >= known.at:
        affected = affected_since(known.world, world, AskedAlone())
        if not isinstance(affected, DependsOnOthers):
            before = _counted(known.world, now, affected)
            return known.counts.changed(before, _counted(world, now, affected))
    return _counted(world, now, world.outputs)


def is_final(world: World, counts: CopyCounts) -> bool:
    """Return whether time alone brings no other count: nothing is left to be assumed."""
    return not counts.silent or settings_in(world).assume_after_seconds is None


def _counted(world: World, now: datetime, keys: Iterable[ObjectKey]) -> CopyCounts:
    """Count the copies of those objects that are decisions, but for copies that are left."""
    asked = CopiesOf(world, now)
    found = Counter(
        one.report
        for key in keys
        if key[:2] in PLACED and key in world.outputs
        for one in asked.statuses(key)
        if not one.leaving
    )
    return CopyCounts(
        healthy=found[Report.HEALTHY],
        unhealthy=found[Report.UNHEALTHY],
        unjudged=found[Report.REPORTED],
        assumed=found[Report.ASSUMED],
        silent=found[Report.NONE],
    )
