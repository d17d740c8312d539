"""What delivery costs beside the pass whose decisions it delivers: folders, texts included."""

import gc
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import (
    TAINT,
    Given,
    cluster,
    everywhere,
    make_repository,
    passes_of,
    push,
    start_clock,
    workload,
    write_checkout,
)
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.one_pass import Passes

WORKLOADS, CLUSTERS = 1000, 100  # a quarter of the clusters has each workload
RUNS = 5
NOW = datetime(2027, 1, 1, tzinfo=UTC)
CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: bench}
spec: {delivery: {folders: {}}}
"""


def figures() -> Iterator[Figure]:
    """Yield the time of delivery as a share of that of the first pass without it."""
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        folder = Path(name)
        make_repository(folder, 2 * WORKLOADS + CLUSTERS, clusters=CLUSTERS)
        repository = Repository.open(folder)
        without = world_of(repository)
        push(repository, {"reconciler.yaml": CONFIGURATION}, at=datetime.now(UTC))
        alone, together, files = _passes(without, world_of(repository))
    share = (together - alone) / alone * 100
    title = f"delivery, of its first pass, {WORKLOADS:,} workloads, {CLUSTERS} clusters"
    yield Figure(title, share, Unit.PERCENT, f"{files:,} files, {together - alone:.2f} s")


def full_figures() -> Iterator[Figure]:
    """Yield what it costs to have each workload in each cluster, and the first changes after that.

    Of a daemon that was started on the repository at rest; later changes are told beside.
    """
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        folder = Path(name)
        write_checkout(folder, everywhere(CLUSTERS, WORKLOADS))
        repository, clock = Repository.open(folder), start_clock()
        without = world_of(repository)
        push(repository, {"reconciler.yaml": CONFIGURATION}, at=clock.moment)
        alone, together, files = _passes(without, world_of(repository), runs=2)
        share = (together - alone) / alone * 100
        title = f"delivery to all, of its first pass, {WORKLOADS:,} workloads, {CLUSTERS} clusters"
        yield Figure(title, share, Unit.PERCENT, f"{files:,} files, {together - alone:.2f} s")
        for _ in range(3):
            passes_of(repository, clock).run()
            clock.moment += timedelta(seconds=100)
        changes = {
            "change": [workload(7, replicas) for replicas in (4, 5)],
            "taint": [{"clusters/00003.yaml": cluster(3) + text} for text in (TAINT, "")],
        }
        for what, (first, second) in changes.items():
            runner = passes_of(repository, clock)
            clock.moment += timedelta(seconds=1)
            runner.run()
            took, later = (_took(runner, repository, clock, files) for files in (first, second))
            told = f"{later:.2f} s for the next one"
            yield Figure(f"first {what} after a start, delivered to all", took, Unit.SECONDS, told)


def _took(runner: Passes, repository: Repository, clock: Given, files: Mapping[str, str]) -> float:
    """Return the processor time of the pass after a change."""
    clock.moment += timedelta(seconds=1)
    push(repository, files, at=clock.moment)
    started = time.process_time()
    runner.run()
    return time.process_time() - started


def world_of(repository: Repository) -> World:
    """Return what the first pass of a repository decides from."""
    runner = passes_of(repository, Given(NOW))
    return runner.loader.load(runner.branch.head())


def _passes(without: World, delivered: World, runs: int = RUNS) -> tuple[float, float, int]:
    """Return the processor time of a pass without and with delivery, and how many files it has.

    The best of some, taken in turn: what else the machine does slows both alike.
    """
    times: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(runs):
        for name, world in (("without", without), ("with", delivered)):
            gc.collect()
            started = time.process_time()
            outcome = reconcile(world, NOW, memo=Memo())
            times[name].append(time.process_time() - started)
    return min(times["without"]), min(times["with"]), len(outcome.delivered)
