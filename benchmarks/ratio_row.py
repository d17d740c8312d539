"""How many times faster than a Go scheduler a question is answered.

Upstream's figures are medians of the real Go schedulers, with the same fleets on one machine with
two cores. Ours are process time, the mean over questions of which no two are alike, on a fleet that
is indexed; `with index` is one question alone on a fresh fleet, its index included. On a machine
that is faster than upstream's was, ours is what it would have taken there: nothing is flattered.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, median
from time import process_time
from typing import TypeVar

from benchmarks.calibration import times_faster
from benchmarks.figure import Figure, Unit

F = TypeVar("F")
V = TypeVar("V")
Q = TypeVar("Q")

SIZES = (100, 1000, 5000)
QUESTIONS = 31
"""So many are asked; the first one only readies what a fleet has once, and is not counted."""
FRESH = 5
"""Fleets that are asked one question only."""


def ratio(name: str, upstream: float, ours: float) -> Figure:
    """Return a row; both times are milliseconds, ours those of this machine."""
    took = ours * times_faster()
    return Figure(name, upstream / took, Unit.TIMES, f"{took:.3f} of {upstream:g} ms")


def ratios(
    question: str, clusters: int, upstream: float, ours: float, with_index: float
) -> Iterator[Figure]:
    """Yield the rows without and with the index; all times are milliseconds."""
    for suffix, took in (("", ours), (", with index", with_index)):
        yield ratio(f"{question}{suffix}, {clusters:,} clusters", upstream, took)


def mean_time(
    fleet: F, questions: Sequence[Q], ask: Callable[[Q, F], object], ready: Callable[[Q], object]
) -> float:
    """Return the mean time of a question after the first; what `ready` does is not counted."""
    gc.collect()
    times = []
    for question in questions:
        ready(question)
        start = process_time()
        ask(question, fleet)
        times.append(process_time() - start)
    return 1000 * fmean(times[1:])


def cold_time(
    decode: Callable[[], V],
    index: Callable[[V], F],
    questions: Iterable[Q],
    ask: Callable[[Q, F], object],
    ready: Callable[[Q], object],
) -> float:
    """Return the median time of an index and one question, each on a fleet decoded anew."""
    times = []
    for question in questions:
        views = decode()
        ready(question)
        gc.collect()
        start = process_time()
        ask(question, index(views))
        times.append(process_time() - start)
    return 1000 * median(times)
