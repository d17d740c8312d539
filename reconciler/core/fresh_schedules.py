"""Where a schedule afresh would put every object that can be rebalanced, as everything stands."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from reconciler.core.memo import Memo
from reconciler.dialects.contract import Prepared
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.rebalance.target import (
    FreshPlace,
    PresentPlace,
    Reference,
    Target,
    TargetSelection,
)

MayGain = Callable[[ObjectKey, PresentPlace], bool]
"""Returns whether an object could be better off elsewhere, by what decisions about it bear."""


class FreshSchedule(NamedTuple):
    """One object that can be rebalanced, and where a schedule afresh would put it.

    Attributes:
        reference: The object as a rebalancer names it.
        key: What decisions about it bear.
        waits_for: Why it cannot be scheduled now, `""` if it can.
        content: Whether it was not asked, since no other place could be better.
        place: Where it would be, `None` where it was not asked, or cannot be scheduled at all.
    """

    reference: Reference
    key: ObjectKey
    waits_for: str = ""
    content: bool = False
    place: FreshPlace | None = None


def schedule_all_afresh(
    world: World, now: datetime, memo: Memo, may_gain: MayGain = lambda *_: True
) -> tuple[FreshSchedule, ...]:
    """Return where a schedule afresh would put each object that can be rebalanced, sorted.

    Nothing is rendered, told or remembered: the passes before and after this question share the
    memo.

    Args:
        world: As it is.
        now: Moment of the pass.
        memo: What a pass over this world at this moment remembered.
        may_gain: What it does not hold of is not asked where it would be.
    """
    settings = settings_in(world)
    if settings.suspend:
        return ()
    found = [
        _schedule_afresh(reference, target, may_gain)
        for memory in memo.dialects.values()
        for reference, target in _targets(memory.prepare(world, settings, now))
    ]
    return tuple(sorted(found, key=lambda one: one.reference.order))


def _schedule_afresh(reference: Reference, target: Target, may_gain: MayGain) -> FreshSchedule:
    """Return where one object would be, unless it waits or nothing can come of it."""
    if target.waits_for:
        return FreshSchedule(reference, target.key, waits_for=target.waits_for)
    present = target.present()
    if present is not None and not may_gain(target.key, present):
        return FreshSchedule(reference, target.key, content=True)
    return FreshSchedule(reference, target.key, place=target.afresh())


def _targets(prepared: Prepared) -> Iterator[tuple[Reference, Target]]:
    """Yield all that can be rebalanced in an API, once each."""
    seen = set()
    for reference in prepared.select(TargetSelection()):
        target = prepared.target(reference)
        if target is not None and target.key not in seen:
            seen.add(target.key)
            yield reference, target
