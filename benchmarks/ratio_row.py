"""One question to a scheduler: how long it takes, beside upstream's time and the goal."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import TypeVar

F = TypeVar("F")

SIZES = (100, 1000, 5000)
RUNS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question: its times in milliseconds, and how many times upstream's speed is the goal."""

    question: str
    clusters: int
    upstream: float
    goal: float
    ours: float
    with_index: float


def row_of(
    question: str,
    clusters: int,
    told: tuple[float, float],
    index: Callable[[], F],
    ask: Callable[[F], object],
) -> Row:
    """Measure a question, and return its row; `told` are upstream's time and the goal."""
    ours, first = measure(index, ask)
    return Row(
        question=question,
        clusters=clusters,
        upstream=told[0],
        goal=told[1],
        ours=ours,
        with_index=first,
    )


def measure(index: Callable[[], F], ask: Callable[[F], object]) -> tuple[float, float]:
    """Return the median time of a question, and the time with the index when asked first."""
    gc.collect()
    start = process_time()
    fleet = index()
    ask(fleet)
    first = process_time() - start
    times = []
    for _ in range(RUNS):
        start = process_time()
        ask(fleet)
        times.append(process_time() - start)
    return 1000 * sorted(times)[RUNS // 2], 1000 * first
