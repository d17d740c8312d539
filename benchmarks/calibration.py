"""Two fixed loops that tell how fast and how busy the machine is while something is measured."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from time import process_time

from benchmarks.figure import median_ms

STEPS = 500_000
BLOCK = bytes(65_536)
BLOCKS = 500
RUNS = 5


@dataclass(frozen=True, slots=True)
class Loops:
    """How many milliseconds a loop of Python takes, and one of hashes."""

    python: float
    hashes: float


OF_THE_GOALS = Loops(python=33, hashes=23)
"""On a quiet machine of the kind on which the goals were set, and the Go schedulers timed."""


def measure_loops() -> Loops:
    """Return the medians of some runs of each."""
    return Loops(python=median_ms(RUNS, _count), hashes=median_ms(RUNS, _hash))


def slower(one: Loops, other: Loops) -> Loops:
    """Return the greater of each time: what a figure between the two may have suffered."""
    return Loops(
        python=max(one.python, other.python),
        hashes=max(one.hashes, other.hashes),
    )


@lru_cache(maxsize=1)
def times_faster() -> float:
    """Return how many times faster than that of the goals this machine is, 1 where it is slower.

    By the shortest processor time of both loops together, so that nothing else counts in them.
    """
    ours = _least_ms(_count) + _least_ms(_hash)
    return max(1.0, (OF_THE_GOALS.python + OF_THE_GOALS.hashes) / ours)


def _least_ms(run: Callable[[], object]) -> float:
    times = []
    for _ in range(2 * RUNS):
        start = process_time()
        run()
        times.append(process_time() - start)
    return 1000 * min(times)


def _count() -> int:
    total = 0
    for number in range(STEPS):
        total += number * number % 7
    return total


def _hash() -> str:
    digest = hashlib.sha256()
    for _ in range(BLOCKS):
        digest.update(BLOCK)
    return digest.hexdigest()
