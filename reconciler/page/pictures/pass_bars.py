"""Passes beside each other, as the slider has them, each with what it moved."""

from collections.abc import Sequence

from reconciler.audit.previews.placement_moves import came_and_left
from reconciler.model.moments import format_moment
from reconciler.page.pictures.bars import BarPicture, Slot, bar_picture, moved_words
from reconciler.page.timeline import PassStep


def passes_picture(steps: Sequence[PassStep], chosen: int) -> BarPicture:
    """Return passes beside each other, each with what it moved.

    Args:
        steps: They, the oldest first, at least one.
        chosen: Which of them is shown, counted from 0.
    """
    slots = []
    for at, step in enumerate(steps):
        moved = [came_and_left(one.moves) for one in step.every]
        came, left = (sum(pair[side] for pair in moved) for side in (0, 1))
        slots.append(
            Slot(
                label=format_moment(step.at),
                says=f"{step.subject}: {moved_words(came, left, int(step.rest is None))}",
                came=came,
                left=left,
                unknown=int(step.rest is None),
                href=step.anchor.href,
                is_here=at == chosen,
            )
        )
    return bar_picture(
        slots,
        title="Moves of each pass",
        labels=(slots[0].label, slots[-1].label) if len(slots) > 1 else (slots[0].label,),
        unit="pass",
    )
