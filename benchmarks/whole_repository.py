"""Time and memory of the check of a whole repository, and of its first pass, by the command.

Policies select by label; each has ten workloads on 5 to 25 of 500 clusters.
"""

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
COMMAND = (sys.executable, "-m", "reconciler", "--cache-dir", "off")


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as all groups take it
    """Yield both for a repository that nothing is remembered of."""
    for manifests in SIZES if large else SIZES[:1]:
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as folder:
            workloads = (manifests - CLUSTERS) * TEAM // (TEAM + 1)
            write_checkout(Path(folder), teams_of(CLUSTERS, workloads))
            verbs = {"validate of all files": "validate", "first pass by command": "reconcile"}
            for what, verb in verbs.items():
                took, peak = _run(Path(folder), verb)
                title = f"{what}, {manifests:,} manifests"
                yield Figure(title, took, Unit.SECONDS, "by the clock")
                yield Figure(f"memory of {title}", peak, Unit.MEGABYTES, "of the command itself")


def _run(folder: Path, verb: str) -> tuple[float, float]:
    """Return the seconds that a command takes, and the megabytes of its process at their peak."""
    started = time.perf_counter()
    output = subprocess.DEVNULL
    with subprocess.Popen([*COMMAND, verb], cwd=folder, stdout=output, stderr=output) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError(f"{verb} fails in the repository that is measured")
    return time.perf_counter() - started, used.ru_maxrss / 1000
