"""Two fixed loops that tell how fast and how busy the machine is while something is measured."""

import hashlib
from dataclasses import dataclass

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


def measure_loops() -> Loops:
    """Return the medians of some runs of each."""
    return Loops(python=median_ms(RUNS, _count), hashes=median_ms(RUNS, _hash))


def slower(one: Loops, other: Loops) -> Loops:
    """Return the greater of each time: what a figure between the two may have suffered."""
    return Loops(
        python=max(one.python, other.python),
        hashes=max(one.hashes, other.hashes),
    )


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
