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
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository

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
        without = _world(repository)
        push(repository, {"reconciler.yaml": CONFIGURATION}, at=datetime.now(UTC))
        alone, together, files = _passes(without, _world(repository))
    share = (together - alone) / alone * 100
    title = f"delivery, of its first pass, {WORKLOADS:,} workloads, {CLUSTERS} clusters"
    yield Figure(title, share, Unit.PERCENT, f"{files:,} files, {together - alone:.2f} s")


def _world(repository: Repository) -> World:
    runner = passes_of(repository, Given(NOW))
    return runner.loader.load(runner.branch.head())


def _passes(without: World, delivered: World) -> tuple[float, float, int]:
    """Return the processor time of a pass without and with delivery, and how many files it has.

    The best of some, taken in turn: what else the machine does slows both alike.
    """
    times: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(RUNS):
        for name, world in (("without", without), ("with", delivered)):
            gc.collect()
            started = time.process_time()
            outcome = reconcile(world, NOW, memo=Memo())
            times[name].append(time.process_time() - started)
    return min(times["without"]), min(times["with"]), len(outcome.delivered)
