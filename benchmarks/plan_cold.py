"""Time of `reconciler plan` in a fresh clone, and of a start with nothing to do, in new processes.

`python -m benchmarks.plan_cold [MANIFESTS]`; the manifests are counted with the bindings. Each is
run without parsed documents on disk, and where an earlier command left them ("kept").
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.startup_and_passes import WORKLOAD, git, make_repository

GOALS = {
    ("plan", 10_000, False): 3,
    ("plan", 100_000, False): 20,
    ("plan", 100_000, True): 6,
    ("cold start, nothing to do", 10_000, False): 3,
    ("cold start, nothing to do", 100_000, False): 30,
    ("cold start, nothing to do", 100_000, True): 10,
}
"""Seconds, by what is done, manifests, and whether documents are kept."""

LARGE = 50_000  # from here on once is enough
FLEETS = (12, 50)  # a quarter of the clusters has each workload
RUNS = 5
SETTLED = "2027-01-01T00:10:00Z"
IDLE = "2027-01-01T00:20:00Z"

Row = tuple[str, float, str]


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


def seconds(folder: Path, *arguments: str) -> float:
    """Return how long a command takes."""
    started = time.perf_counter()
    reconciler(folder, *arguments)
    return time.perf_counter() - started


def measure(manifests: int = 10_000, *, clusters: int = FLEETS[-1]) -> list[Row]:
    """Return what was done, the seconds it took, the median of some, and the goal."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    plan = ("plan", "--base", "origin/main", "--head", "origin/scale")
    start = ("reconcile", "--dry-run", "--now", IDLE)
    rows: list[Row] = []
    try:
        clone = prepare(folder, manifests, clusters)
        asked = {"plan": (clone, plan), "cold start, nothing to do": (folder / "origin", start)}
        for what, (where, arguments) in asked.items():
            for kept in (False, True):
                cache = str(folder / "cache") if kept else "off"
                if kept:
                    seconds(where, "--cache-dir", cache, *arguments)
                runs = range(RUNS if manifests < LARGE else 1)
                took = statistics.median(
                    seconds(where, "--cache-dir", cache, *arguments) for _ in runs
                )
                title = f"{what}, {manifests} manifests, {clusters} clusters"
                goal = GOALS.get((what, manifests, kept))
                rows.append(
                    (f"{title}{', kept' if kept else ''}", took, f"< {goal}" if goal else "")
                )
    finally:
        shutil.rmtree(folder)
    return rows


def main() -> None:
    """Print the table."""
    manifests = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("what                                                            seconds   goal")
    for clusters in FLEETS:
        for what, took, goal in measure(manifests, clusters=clusters):
            print(f"{what:62}   {took:7.2f}   {goal}".rstrip())


if __name__ == "__main__":
    main()
