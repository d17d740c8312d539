"""What a change of the inputs brings about later: two foresights, compared."""

from dataclasses import replace
from datetime import datetime

from reconciler.audit.previews.foresight import Coming, foresee_each, told_by
from reconciler.audit.previews.preview import Preview, compared
from reconciler.core.asked.affected_objects import SettledWorld
from reconciler.core.asked.next_passes import passes_since
from reconciler.core.changes import Outcome
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.delivery.record import recorded
from reconciler.delivery.settings import decode_delivery
from reconciler.model.settings import settings_in
from reconciler.model.world import World


def look_ahead(
    base: World,
    merged: World,
    now: datetime,
    *,
    baseline: Outcome | None = None,
    settled: SettledWorld | None = None,
) -> Preview:
    """Return what a change of the inputs moves, now and later.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment at which a pass would run.
        baseline: What happens without the change, if not what a pass makes of `base` now.
        settled: A world in which nothing moves, if one is known; it only saves work.
    """
    (without, theirs), (outcome, ours) = _told_by_each(base, merged, now, settled)
    found = compared(base, merged, now, baseline or without, outcome)
    return replace(
        found,
        later=tuple(one for one in ours if one not in theirs),
        averted=_averted(ours, theirs),
        later_anyway=tuple(one for one in ours if one in theirs),
    )


def _told_by_each(
    base: World, merged: World, now: datetime, settled: SettledWorld | None
) -> list[tuple[Outcome, tuple[Coming, ...]]]:
    """Return what a pass makes of two worlds now, and what comes later in each of them."""
    plain = not (_delivers(base) or _delivers(merged))
    told = passes_since(settled, now, base, merged) if settled is not None and plain else None
    if told is not None:
        first = [passes[0][1] for passes in told]
        coming = [told_by(passes) for passes in told]
    else:
        memo = Memo()
        begun = [(world, reconcile(world, now, memo=memo)) for world in (base, merged)]
        first = [outcome for _, outcome in begun]
        coming = foresee_each(begun, now, memo=memo)
    later = (tuple(one for one in found if one.at > now) for found in coming)
    return list(zip(first, later, strict=True))


def _delivers(world: World) -> bool:
    """Return whether a pass may write files of clusters."""
    configured = decode_delivery(settings_in(world)).destinations
    return bool(configured or recorded(world.outputs))


def _averted(ours: tuple[Coming, ...], theirs: tuple[Coming, ...]) -> tuple[Coming, ...]:
    """Return what does not come any more, not at another moment either."""
    still = {(one.key, one.why) for one in ours}
    return tuple(one for one in theirs if (one.key, one.why) not in still)
