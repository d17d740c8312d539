"""What is suspended, as verbs print it: each with its file and what a resume would move."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from reconciler.cli.printing.progress import PASSES, doing

if TYPE_CHECKING:
    from reconciler.audit.fleet.suspensions import Suspender
    from reconciler.core.memo import Memo
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


def suspended_lines(world: "World", keys: "Iterable[ObjectKey]", now: datetime) -> list[str]:
    """Return what suspends some objects, a line each below a title; none if nothing does.

    Args:
        world: That has them.
        keys: The objects.
        now: Moment of the question.
    """
    from reconciler.audit.fleet.suspensions import Suspensions

    suspensions = Suspensions(world)
    found = dict.fromkeys(one for key in keys for one in suspensions.of(key))
    told = suspender_sentences(world, [*found], now)
    return ["Suspended:", *(f"  {line}" for line in told)] if told else []


def suspender_sentences(
    world: "World", suspenders: "Iterable[Suspender]", now: datetime, memo: "Memo | None" = None
) -> list[str]:
    """Return a sentence for each of what suspends: its file, and what a resume of it would move.

    Args:
        world: As it is.
        suspenders: What suspends.
        now: Moment of the question.
        memo: What earlier passes remembered.
    """
    from reconciler.audit.previews.resumption import resumed_moves, resumed_text
    from reconciler.audit.printable import printable
    from reconciler.core.memo import Memo
    from reconciler.core.record import next_moment

    memo, at = memo or Memo(), next_moment(world, now)
    with doing(PASSES):
        return [
            printable(f"{one.words}: {resumed_text(resumed_moves(world, [one], at, memo))}")
            for one in suspenders
        ]
