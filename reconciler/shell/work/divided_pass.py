"""A first pass on all processors: workers decide its pieces, each with a memory of its own."""

from datetime import datetime

from reconciler.core.changes import Outcome
from reconciler.core.divided.joined_outcomes import join_outcomes
from reconciler.core.divided.pieces import divide, is_divisible
from reconciler.core.reconcile import reconcile
from reconciler.model.world import World
from reconciler.shell.work.executors import Workers, results_of
from reconciler.shell.work.workers import may_start_processes, processors, start_pool

ENOUGH = 2_000  # inputs for each process, which takes half a second to begin


def decide_divided(
    world: World, now: datetime, *, enough: int = ENOUGH, most: int | None = None
) -> Outcome | None:
    """Return what a pass over a world decides, computed by several processes.

    Nothing is remembered of it, so the next pass looks at everything once.

    Args:
        world: All there is.
        now: Moment of the pass.
        enough: How many inputs are worth a process.
        most: How many processes there may be; `None` is one a processor.

    Returns:
        `None` where one process has to do it: it is not the first pass, there is too little to
        do, objects depend on each other, or this machine has no processes to give.
    """
    count = min(processors() if most is None else most, len(world.inputs) // enough)
    if count <= 1 or not may_start_processes() or not is_divisible(world):
        return None
    pieces = divide(world, count)
    if len(pieces) <= 1:
        return None
    try:
        with start_pool(len(pieces)) as pool:
            found = results_of(Workers(pool, len(pieces)), decide_piece, [(p, now) for p in pieces])
            outcomes = [outcome for _, outcome in found]
    except OSError:
        return None
    return join_outcomes(world, now, outcomes)


def decide_piece(piece: tuple[World, datetime]) -> Outcome:
    """Decide a piece in a worker."""
    world, now = piece
    return reconcile(world, now)
