"""What was measured: a name, a number with its unit, and what else is worth knowing."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """What a number counts."""

    TIMES = "times"
    MILLISECONDS = "ms"
    SECONDS = "s"
    MEGABYTES = "MB"
    PERCENT = "%"
    COUNT = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number; `name` is that of the goal, where there is one."""

    name: str
    value: float
    unit: Unit
    note: str = ""


def median_ms(repeat: int, run: Callable[[], object]) -> float:
    """Return the median time of a call in milliseconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def seconds(run: Callable[[], object]) -> float:
    """Return the time of one call, of which nothing else is collected."""
    gc.collect()
    return median_ms(1, run) / 1000
