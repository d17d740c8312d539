"""Time of `reconciler plan` as a pipeline runs it: a fresh clone, a new process, no cache.

`python -m benchmarks.plan_cold [MANIFESTS]`; the manifests are counted with the bindings.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.startup_and_passes import WORKLOAD, git, make_repository

LIMIT_SECONDS = 3
FLEETS = (12, 50)  # a quarter of the clusters has each workload
RUNS = 5
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
        text = WORKLOAD.format(i=i, replicas=33)
        (origin / "workloads" / f"{i:05d}.yaml").write_text(text)
    git(origin, "commit", "-q", "-am", "Scale")
    git(folder, "clone", "-q", "--no-local", str(origin), str(clone))
    return clone


def seconds(clone: Path) -> float:
    """Return how long one plan takes."""
    started = time.perf_counter()
    reconciler(clone, "plan", "--base", "origin/main", "--head", "origin/scale")
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    manifests = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("what                                          seconds   goal")
    for clusters in FLEETS:
        folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        try:
            clone = prepare(folder, manifests, clusters)
            median = statistics.median(seconds(clone) for _ in range(RUNS))
        finally:
            shutil.rmtree(folder)
        what = f"plan, {manifests} manifests, {clusters} clusters"
        print(f"{what:44}   {median:7.2f}   < {LIMIT_SECONDS}")


if __name__ == "__main__":
    main()
