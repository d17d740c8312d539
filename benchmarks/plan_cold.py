"""Time of `reconciler plan` in a fresh clone, and of a start with nothing to do, in new processes.

The manifests are counted with the bindings. Each is run without parsed documents on disk, and where
an earlier command left them.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import git, make_repository, workload

SIZES = (10_000, 100_000)
FLEETS = (12, 50)  # a quarter of the clusters has each workload
RUNS = 3
SETTLED = "2027-01-01T00:10:00Z"
IDLE = "2027-01-01T00:20:00Z"
PLAN = ("plan", "--base", "origin/main", "--head", "origin/scale")
START = ("reconcile", "--dry-run", "--now", IDLE)


def reconciler(folder: Path, *arguments: str) -> None:
    """Run the command."""
    command = [sys.executable, "-m", "reconciler", "-C", str(folder), *arguments]
    subprocess.run(command, check=True, capture_output=True)


def prepare(folder: Path, manifests: int, clusters: int) -> Path:
    """Return a clone of a settled repository, with a branch that scales ten workloads."""
    origin, clone = folder / "origin", folder / "clone"
    make_repository(origin, clusters + (manifests - clusters) * 2 // 3, clusters=clusters)
    reconciler(origin, "reconcile", "--now", "2027-01-01T00:00:00Z")
    reconciler(origin, "reconcile", "--now", SETTLED)
    git(origin, "checkout", "-q", "-b", "scale")
    for i in range(10):
        for path, text in workload(i, 33).items():
            (origin / path).write_text(text)
    git(origin, "commit", "-q", "-am", "Scale")
    git(folder, "clone", "-q", "--no-local", str(origin), str(clone))
    return clone


def seconds(folder: Path, *arguments: str) -> float:
    """Return how long a command takes."""
    started = time.perf_counter()
    reconciler(folder, *arguments)
    return time.perf_counter() - started


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as all groups take it
    """Yield the times, for each number of clusters, and for many manifests if they are wanted."""
    for clusters in FLEETS:
        yield from _figures(SIZES[0], clusters, f", {clusters} clusters", RUNS)
    if large:
        yield from _figures(SIZES[1], FLEETS[-1], "", 1)


def _figures(manifests: int, clusters: int, fleet: str, runs: int) -> Iterator[Figure]:
    """Yield the times in one repository."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    cache = str(folder / "cache")
    try:
        clone = prepare(folder, manifests, clusters)
        for what, where, asked in (
            ("plan, cold", clone, PLAN),
            ("start with nothing to do", folder / "origin", START),
        ):
            seconds(where, "--cache-dir", cache, *asked)
            for kept, chosen in (("", "off"), (", with the disk cache", cache)):
                took = [seconds(where, "--cache-dir", chosen, *asked) for _ in range(runs)]
                name = f"{what}{kept}, {manifests:,} manifests{fleet}"
                yield Figure(name, statistics.median(took), Unit.SECONDS)
    finally:
        shutil.rmtree(folder)
