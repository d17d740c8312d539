"""Time of `reconciler plan` as a pipeline runs it: a fresh clone, a new process, no cache.

The manifests are counted with the bindings.
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

MANIFESTS = 10_000
FLEETS = (12, 50)  # a quarter of the clusters has each workload
RUNS = 3
SETTLED = "2027-01-01T00:10:00Z"


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


def seconds(clone: Path) -> float:
    """Return how long one plan takes."""
    started = time.perf_counter()
    reconciler(clone, "plan", "--base", "origin/main", "--head", "origin/scale")
    return time.perf_counter() - started


def figures() -> Iterator[Figure]:
    """Yield the time for each number of clusters."""
    for clusters in FLEETS:
        folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        try:
            clone = prepare(folder, MANIFESTS, clusters)
            median = statistics.median(seconds(clone) for _ in range(RUNS))
        finally:
            shutil.rmtree(folder)
        name = f"plan, cold, {MANIFESTS:,} manifests, {clusters} clusters"
        yield Figure(name, median, Unit.SECONDS)
