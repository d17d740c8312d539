"""Two fixed loops that tell how fast and how busy the machine is while something is measured."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
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


def times_faster() -> float:
    """Return how many times faster than that of the goals this machine is now, 1 if it is slower.

    By the processor time of both loops together, to be asked beside each figure: a busy machine is
    slower while it is, and so are its loops.
    """
    ours = _typical_ms(_count) + _typical_ms(_hash)
    return max(1.0, (OF_THE_GOALS.python + OF_THE_GOALS.hashes) / ours)


def _typical_ms(run: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        start = process_time()
        run()
        times.append(process_time() - start)
    return 1000 * median(times)


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


def slowness() -> float:
    """Return how many times as long as on that machine the same work takes now, at least once."""
    return max(1.0, measure_loops().python / OF_THE_GOALS.python)
