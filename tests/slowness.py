"""How much slower this machine is, at this moment, than the one on which bounds were set."""

from benchmarks.calibration import measure_loops

QUIET_MS = 33.0
"""What the loop of Python takes on that machine while nothing else runs on it."""


def slowness() -> float:
    """Return how many times as long as there the same work takes here, at least once."""
    return max(1.0, measure_loops().python / QUIET_MS)
