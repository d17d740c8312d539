"""What delivery costs beside the pass whose decisions it delivers: folders, texts included."""

import gc
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import Given, make_repository, passes_of, push
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.shell.git.repository import Repository

WORKLOADS, CLUSTERS = 1000, 100  # a quarter of the clusters has each workload
RUNS = 3
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
        alone, _ = _pass(repository)
        push(repository, {"reconciler.yaml": CONFIGURATION}, at=datetime.now(UTC))
        together, files = _pass(repository)
    share = (together - alone) / alone * 100
    title = f"delivery, of its first pass, {WORKLOADS:,} workloads, {CLUSTERS} clusters"
    yield Figure(title, share, Unit.PERCENT, f"{files:,} files, {together - alone:.2f} s")


def _pass(repository: Repository) -> tuple[float, int]:
    """Return the processor time of a pass, the best of some, and how many files it delivers."""
    clock = Given(datetime(2027, 1, 1, tzinfo=UTC))
    runner = passes_of(repository, clock)
    world = runner.loader.load(runner.branch.head())
    times, files = [], 0
    for _ in range(RUNS):
        gc.collect()
        started = time.process_time()
        outcome = reconcile(world, clock.now(), memo=Memo())
        times.append(time.process_time() - started)
        files = len(outcome.delivered)
    return min(times), files
