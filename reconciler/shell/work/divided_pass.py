"""A first pass on all processors: workers decide its pieces, each with a memory of its own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

from reconciler.core.changes import Outcome
from reconciler.core.divided import divide, is_divisible, join_outcomes
from reconciler.core.reconcile import reconcile
from reconciler.errors import ShellError
from reconciler.model.records import dataclass
from reconciler.model.world import World
from reconciler.shell.processes.limits import processors
from reconciler.shell.work.executors import (
    Workers,
    may_start_processes,
    results_of,
    start_pool,
)

ENOUGH = 2_000  # inputs for each process, which takes half a second to begin


@dataclass(frozen=True, slots=True)
class Hands:
    """Who may take pieces.

    Attributes:
        count: Returns how many there are, 0 where nobody may be asked.
        begin: Has so many take pieces while its block lasts.
    """

    count: Callable[[], int]
    begin: Callable[[int], AbstractContextManager[Workers]]


@contextmanager
def _own_processes(count: int) -> Iterator[Workers]:
    with start_pool(count) as pool:
        yield Workers(pool, count)


PROCESSES = Hands(lambda: processors() if may_start_processes() else 0, _own_processes)
"""Processes of this machine, one a processor."""


def decide_divided(
    world: World,
    now: datetime,
    *,
    enough: int = ENOUGH,
    most: int | None = None,
    hands: Hands = PROCESSES,
) -> Outcome | None:
    """Return what a pass over a world decides, computed by several workers.

    Nothing is remembered of it, so the next pass looks at everything once.

    Args:
        world: All there is.
        now: Moment of the pass.
        enough: How many inputs are worth a worker.
        most: How many are asked, if any may be; `None` is all of them.
        hands: Who they are.

    Returns:
        `None` where one process has to do it: it is not the first pass, there is too little to
        do, objects depend on each other, or there is nobody who could.
    """
    worth = len(world.inputs) // enough
    if min(worth, worth if most is None else most) <= 1 or not is_divisible(world):
        return None
    try:
        there = hands.count()
        count = min(worth, most or there) if there else 0
        pieces = divide(world, count) if count > 1 else ()
        if len(pieces) <= 1:
            return None
        with hands.begin(len(pieces)) as workers:
            results = results_of(workers, decide_piece, [(piece, now) for piece in pieces])
            outcomes = [outcome for _, outcome in results]
    except (OSError, ShellError):  # whoever is there has nothing to give, or other code
        return None
    return join_outcomes(world, now, outcomes)


def decide_piece(piece: tuple[World, datetime]) -> Outcome:
    """Decide a piece in a worker."""
    world, now = piece
    return reconcile(world, now)
