"""How long the steps of a pass take: fetch, load, schedule, commit, push."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

STEPS = ("fetch", "load", "schedule", "commit", "push")


class StepTimes:
    """Adds up the seconds of each step; one that is done again counts again."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the block as so much of a step, one of `STEPS`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
