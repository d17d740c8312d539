"""What a change of the inputs brings about later: two foresights, compared."""

from dataclasses import replace
from datetime import datetime

from reconciler.audit.previews.foresight import Coming, foresee_each
from reconciler.audit.previews.preview import Preview, compared
from reconciler.core.changes import Outcome
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.model.world import World


def look_ahead(
    base: World, merged: World, now: datetime, *, baseline: Outcome | None = None
) -> Preview:
    """Return what a change of the inputs moves, now and later.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment at which a pass would run.
        baseline: What happens without the change, if not what a pass makes of `base` now.
    """
    memo = Memo()
    passes = [(world, reconcile(world, now, memo=memo)) for world in (base, merged)]
    (_, without), (_, outcome) = passes
    found = compared(base, merged, now, baseline or without, outcome)
    theirs, ours = (
        tuple(one for one in coming if one.at > now)
        for coming in foresee_each(passes, now, memo=memo)
    )
    return replace(
        found,
        later=tuple(one for one in ours if one not in theirs),
        averted=_averted(ours, theirs),
        later_anyway=tuple(one for one in ours if one in theirs),
    )


def _averted(ours: tuple[Coming, ...], theirs: tuple[Coming, ...]) -> tuple[Coming, ...]:
    """Return what does not come any more, not at another moment either."""
    still = {(one.key, one.why) for one in ours}
    return tuple(one for one in theirs if (one.key, one.why) not in still)
