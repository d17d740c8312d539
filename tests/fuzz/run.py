"""Runs mutations until time is up, or as many as asked for, and counts what holds."""

import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tests.fuzz.corpus import repositories
from tests.fuzz.laws import broken_laws
from tests.fuzz.mutations import Mutation, Spot, ordered

EVERY = 12
PIECE = 1500  # mutations; those of one repository are run together, since it is settled once


@dataclass
class Tally:
    """What was tried, and what was broken: a line a mutation."""

    tried: int = 0
    shapes: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add another one to this."""
        self.tried += other.tried
        self.shapes |= other.shapes
        self.broken += other.broken


def try_all(spots: Iterable[Spot], *, until: float = float("inf")) -> Tally:
    """Try mutations, those of one repository one after the other, until a moment of the clock."""
    tally = Tally()
    for spot in sorted(spots, key=lambda one: (one.repository.name, one.rank)):
        if time.monotonic() > until:
            break
        tally.tried += 1
        tally.shapes.add(spot.shape)
        tally.broken += laws_broken_by(spot.make())
    return tally


def laws_broken_by(mutation: Mutation) -> list[str]:
    """Return what a mutation breaks, each as a line that says how to find it again."""
    try:
        return [f"{mutation}: {law}" for law in broken_laws(mutation)]
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what we look for
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        return [f"{mutation}: raised {type(error).__name__}: {error} ({where})"]


def run_share(worker: int, workers: int, seconds: float) -> Tally:
    """Run every so many-th piece of all mutations, until time is up."""
    until = time.monotonic() + seconds
    spots = ordered(repositories())
    tally = Tally()
    for start in range(worker * PIECE, len(spots), workers * PIECE):
        if time.monotonic() > until:
            break
        tally.add(try_all(spots[start : start + PIECE], until=until))
    return tally


@lru_cache(maxsize=1)
def sample() -> Sequence[Spot]:
    """Return the mutations of every so many-th repository, in an order that is always the same."""
    return ordered(repositories()[::EVERY])
