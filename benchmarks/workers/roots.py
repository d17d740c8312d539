"""Roots of one repository, twenty or a large one: by the daemon alone, and by Dask workers.

From the start of the daemon until each root was placed and pushed, then one change of one root.
"""

import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import make_bare, push, team_workload, teams_of
from reconciler.shell.git.repository import Repository
from tests.shell.dask_processes import Cluster, cluster_in
from tests.shell.fleet import process_environment, running

ROOTS = 20
CLUSTERS = 100
WORKLOADS, MANY = 500, 5_000
WORKERS = (0, 1, 2, 4)
ONE_WORKLOADS = 10_000
ONE_WORKERS = (1, 2)
CHANGES = 5
TICKS = os.sysconf("SC_CLK_TCK")
LOOK_SECONDS = 0.2
QUIET_SECONDS = 4.0  # more than a look at the branch, and than any pass of these sizes
LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What processes took: seconds of the processor, and megabytes at the peak."""

    seconds: float
    megabytes: float


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as groups are called
    """Measure roots of 500 workloads; `large` measures roots of 5,000, too."""
    for workloads in (WORKLOADS, MANY) if large else (WORKLOADS,):
        for count in WORKERS:
            yield from measured(ROOTS, workloads, count)
    for count in ONE_WORKERS:
        yield from measured(1, ONE_WORKLOADS, count)


def measured(number: int, workloads: int, count: int) -> Iterator[Figure]:
    """Measure roots of so many workloads, by so many workers; 0 is the daemon alone.

    Yields:
        Seconds by the clock, processor time and memory of each process, and the next change.
    """
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        roots = [f"teams/t{one:02d}" for one in range(number)]
        repository = make_bare(folder / "remote.git", files_of(roots, workloads))
        what = f"{number} {'roots' if number > 1 else 'root'} of {workloads:,} workloads"
        with cluster_in(folder, workers=0) as cluster:
            settings = {**process_environment(), "XDG_CACHE_HOME": str(folder / "cache")}
            workers = [cluster.start_worker(environment=settings) for _ in range(count)]
            served = cluster if count else None
            yield from _served(repository, folder, what, roots, served, workers)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def files_of(roots: Sequence[str], workloads: int) -> dict[str, str]:
    """Return the files of all roots."""
    fleet = teams_of(CLUSTERS, workloads)
    mark = "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
    fleet["reconciler.yaml"] = (
        f"{mark}metadata: {{name: fleet}}\nspec: {{feedback: {{assumeAfterSeconds: 86400}}}}\n"
    )
    return {f"{root}/{path}": text for root in roots for path, text in fleet.items()}


def _served(
    repository: Repository,
    folder: Path,
    what: str,
    roots: Sequence[str],
    cluster: Cluster | None,
    workers: Sequence["subprocess.Popen[bytes]"],
) -> Iterator[Figure]:
    """Serve the roots until all are placed, and one change longer."""
    who = (
        "the daemon alone"
        if cluster is None
        else f"{len(workers)} worker{'s' if len(workers) > 1 else ''}"
    )
    what = f"{what}, {who}"
    began = time.monotonic()
    with running(folder, *_options(repository, folder, cluster), log=folder / "log") as daemon:
        _wait(lambda: _placed(repository, roots) == len(roots))
        took = time.monotonic() - began
        spent = [_spent(process.pid) for process in (daemon, *workers)]
        races = sum(map(int, re.findall(r'"lost_races": (\d+)', (folder / "log").read_text())))
        own, *others = spent
        each = ", ".join(f"{one.seconds:.0f} s and {one.megabytes:.0f} MB" for one in others)
        lost = f"by the clock; {races} races lost"
        yield Figure(f"first passes, {what}", took, Unit.SECONDS, lost)
        total = sum(one.seconds for one in spent)
        note = f"daemon {own.seconds:.0f} s and {own.megabytes:.0f} MB"
        note = f"{note}; workers {each}" if each else note
        yield Figure(f"processor time of them, {what}", total, Unit.SECONDS, note)
        _come_to_rest(folder / "log")
        asked = islice(cycle(roots), 1 + CHANGES)
        waits = [_change(repository, *one) for one in enumerate(asked)][1:]
        note = f"median of {CHANGES}, from push to commit, looked for each second"
        yield Figure(f"one change, {what}", statistics.median(waits), Unit.SECONDS, note)


def _change(repository: Repository, number: int, root: str) -> float:
    """Scale one workload of one root, and return the seconds until it was decided."""
    before = len(_passes(repository))
    changed = {f"{root}/{path}": text for path, text in team_workload(7, 99 + number).items()}
    began = time.monotonic()
    push(repository, changed, at=datetime.now(UTC).replace(microsecond=0))
    _wait(lambda: len(_passes(repository)) > before)
    return time.monotonic() - began


def _options(repository: Repository, folder: Path, cluster: Cluster | None) -> Sequence[str]:
    """Return the options of the daemon of all roots."""
    service = ("--remote", f"file://{repository.git_dir}", "--mirror", str(folder / "mirror"))
    executor = () if cluster is None else ("--executor", cluster.dask)
    roots = ("--roots", "teams/*", *executor, "--poll-seconds", "1", "--log-format", "json")
    return (*service, *roots)


def _passes(repository: Repository) -> Sequence[str]:
    """Return the commits of passes on the branch."""
    listed = repository.git.line("log", "--format=%H", "--author=reconciler", "main")
    return listed.split()


def _placed(repository: Repository, roots: Sequence[str]) -> int:
    """Return how many roots have outputs."""
    places = [f"{root}/status" for root in roots]
    return len(repository.git.line("ls-tree", "-d", "--name-only", "main", *places).split())


def _come_to_rest(log: Path) -> None:
    """Wait until the daemon has had nothing to say for a while."""
    size, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        if log.stat().st_size != size:
            size, since = log.stat().st_size, time.monotonic()
        time.sleep(LOOK_SECONDS)


def _wait(is_over: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + LONGEST_SECONDS
    while not is_over():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came of it within {LONGEST_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


def _spent(process: int) -> Spent:
    """Return what a process took until now, its git commands included."""
    place = Path(f"/proc/{process}")
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))  # of itself and of its children, as proc(5) has them
    peak = re.search(r"VmHWM:\s+(\d+) kB", (place / "status").read_text())
    return Spent(ticks / TICKS, int(peak[1]) / 1000 if peak else 0.0)
