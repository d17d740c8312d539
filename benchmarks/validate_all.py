"""Time and memory of the check of a whole repository, policies that select by label included."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import CLUSTERS, TEAM, teams_of, write_checkout

SIZES = (10_000, 100_000)
COMMAND = (sys.executable, "-m", "reconciler", "--cache-dir", "off", "validate")


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as all groups take it
    """Yield both for a repository that nothing is remembered of."""
    for manifests in SIZES if large else SIZES[:1]:
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as folder:
            workloads = (manifests - CLUSTERS) * TEAM // (TEAM + 1)
            write_checkout(Path(folder), teams_of(CLUSTERS, workloads))
            took, peak = _validate(Path(folder))
        what = "validate of all files"
        yield Figure(f"{what}, {manifests:,} manifests", took, Unit.SECONDS, "by the clock")
        yield Figure(f"{what}, memory, {manifests:,} manifests", peak, Unit.MEGABYTES)


def _validate(folder: Path) -> tuple[float, float]:
    """Return the seconds that it takes, and the megabytes of the process at its peak."""
    started = time.perf_counter()
    with subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError("the repository that is measured has faults")
    return time.perf_counter() - started, used.ru_maxrss / 1000
