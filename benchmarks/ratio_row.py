"""How many times faster than a Go scheduler one question is answered.

Upstream's figures are medians of the real Go schedulers, with the same inputs on the same machine
with two cores. Ours are process time, on a fleet that is indexed; `with index` has the index and
the first question besides.
"""

import gc
from collections.abc import Callable, Iterator
from time import process_time
from typing import TypeVar

from benchmarks.figure import Figure, Unit

F = TypeVar("F")

SIZES = (100, 1000, 5000)
RUNS = 15


def ratios(
    question: str, clusters: int, upstream: float, ours: float, with_index: float
) -> Iterator[Figure]:
    """Yield the ratio without and with the index; all times are milliseconds."""
    for suffix, took in (("", ours), (", with index", with_index)):
        yield Figure(
            f"{question}{suffix}, {clusters:,} clusters",
            upstream / took,
            Unit.TIMES,
            f"{took:.3f} of {upstream:g} ms",
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
