"""The passes of the next moments over what a few objects read, as if nothing but time went by."""

from datetime import datetime

from reconciler.core.asked.affected_objects import SettledWorld, affected_since
from reconciler.core.asked.alone import AskedAlone
from reconciler.core.changes import Outcome
from reconciler.core.next_world import next_world
from reconciler.dialects.alone import DependsOnOthers
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World

MOMENTS = 8
"""So many passes are computed; what waits for a later moment is told as far as it is known."""


Passes = list[tuple[datetime, Outcome]]
"""Passes one after the other, each with its moment."""


def passes_alone(
    world: World, now: datetime, alone: AskedAlone, *keys: ObjectKey
) -> Passes | DependsOnOthers:
    """Return the next passes over what some objects read, as many as are foreseen of a world."""
    part, at = alone.part(world, *keys), now
    if isinstance(part, DependsOnOthers):
        return part
    passes: Passes = []
    for _ in range(MOMENTS):
        outcome = alone.ask_of(part, at)
        if isinstance(outcome, DependsOnOthers):
            return outcome
        passes.append((at, outcome))
        if outcome.recheck_at is None:
            break
        part, at = next_world(part, outcome), max(outcome.recheck_at, at)
    return passes


def passes_since(settled: SettledWorld, now: datetime, *worlds: World) -> list[Passes] | None:
    """Return the next passes in worlds that follow a settled one, over what may move in any.

    Returns:
        `None` where that may be anything, or is more than is asked at once.
    """
    if now < settled.at:
        return None
    alone, keys = AskedAlone(), set[ObjectKey]()
    for world in worlds:
        affected = affected_since(settled.world, world, alone)
        if isinstance(affected, DependsOnOthers):
            return None
        keys |= affected
    found = [passes_alone(one, now, alone, *sorted(keys)) for one in worlds]
    told = [passes for passes in found if not isinstance(passes, DependsOnOthers)]
    return told if len(told) == len(worlds) else None
