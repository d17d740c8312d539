"""Hands out pieces of long work to an executor, whichever it is; results come in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import TypeVar

P = TypeVar("P")
R = TypeVar("R")

AHEAD = 2  # pieces of each worker: one that it works at, one that waits for it


@dataclass(frozen=True, slots=True)
class Workers:
    """An executor, and how many calls it works at side by side."""

    executor: Executor
    count: int


def results_of(
    workers: Workers | None, call: Callable[[P], R], pieces: Iterable[P]
) -> Iterator[tuple[P, R]]:
    """Yield each piece with its result, in the order given; few pieces exist at a time.

    What the executor loses with its workers is done in this process: it takes longer, and that is
    all. An executor that can give a piece to another worker does so by itself.

    Args:
        workers: Who does it; `None` is this process.
        call: A function of a module, which answers by its piece alone.
        pieces: Values that another process can be sent.
    """
    if workers is None:
        yield from ((piece, call(piece)) for piece in pieces)
        return
    begun: deque[tuple[P, Future[R] | None]] = deque()
    for piece in pieces:
        begun.append((piece, _begin(workers.executor, call, piece)))
        if len(begun) > AHEAD * workers.count:
            yield _finish(call, *begun.popleft())
    while begun:
        yield _finish(call, *begun.popleft())


def size_of_pieces(total: int, workers: Workers | None, *, least: int, most: int) -> int:
    """Return how many items a piece has: workers come back often enough to end together.

    >>> size_of_pieces(1000, Workers(Executor(), 2), least=8, most=256)
    125
    """
    if workers is None:
        return most
    return max(least, min(most, -(-total // (4 * workers.count))))


def _begin(executor: Executor, call: Callable[[P], R], piece: P) -> Future[R] | None:
    """Hand out a piece; `None` if there is no worker left."""
    try:
        return executor.submit(call, piece)
    except BrokenExecutor:
        return None


def _finish(call: Callable[[P], R], piece: P, future: Future[R] | None) -> tuple[P, R]:
    """Take a result, or find it here if it was lost."""
    try:
        return piece, call(piece) if future is None else future.result()
    except BrokenExecutor:
        return piece, call(piece)
