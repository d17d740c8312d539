"""What protected room costs beside its pass; each binding is on up to five clusters."""

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.delivery import NOW, world_of
from benchmarks.figure import Figure, Unit
from benchmarks.repositories import (
    CELL,
    CELL_CLUSTER,
    TEAM,
    TEAM_POLICY,
    Given,
    make_bare,
    passes_of,
    team_workload,
)
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.model.world import World

WORKLOADS, CLUSTERS = 10_000, 100
RUNS = 2
CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {{name: bench}}
spec: {{capacity: {{protect: {on}}}}}
"""
STATUS = """\
status:
  apiEnablements:
  - {groupVersion: apps/v1, resources: [{kind: Deployment, name: deployments}]}
  conditions:
  - type: Ready
    status: "True"
    reason: Told
    message: ""
    lastTransitionTime: "2026-11-01T00:00:00Z"
  resourceSummary:
    allocatable: {cpu: "90000", memory: 90Ti, pods: "300000"}
"""
BY_WEIGHT = """\
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
"""
WAYS = {
    "duplicated": "      replicaSchedulingType: Duplicated\n",
    "static": BY_WEIGHT,
    "dynamic": f"{BY_WEIGHT}      weightPreference: {{dynamicWeight: AvailableReplicas}}\n",
}


def figures(workloads: int = WORKLOADS) -> Iterator[Figure]:
    """Yield the time of protection as a share of that of a first pass, and of its deciding alone.

    A pass reads, decides and commits. Processor time, in one process: a protected pass is not
    divided, so it would win where the time of all processes is counted.
    """
    for way in WAYS:
        settings = [{**_files(way, workloads), **_configured(on=on)} for on in ("false", "true")]
        runs = [list(map(_first_pass, settings)) for _ in range(RUNS)]
        yield _share(f"{way}, of its first pass, {workloads:,} workloads", runs)
        worlds = list(map(_world, settings))
        runs = [list(map(_decided, worlds)) for _ in range(RUNS)]
        yield _share(f"{way}, of deciding alone, {workloads:,} workloads", runs)


def _share(name: str, runs: list[list[float]]) -> Figure:
    """Return what protection adds, of the best times without and with it, which took turns."""
    alone, together = (min(times) for times in zip(*runs, strict=True))
    share = (together - alone) / alone * 100
    note = f"{together - alone:.2f} of {alone:.2f} s"
    return Figure(f"protected room, {name}", share, Unit.PERCENT, note)


def _configured(*, on: str) -> dict[str, str]:
    return {"reconciler.yaml": CONFIGURATION.format(on=on)}


def _files(way: str, workloads: int) -> dict[str, str]:
    """Return clusters with room for all, and workloads, ten of a policy, each in one cell."""
    cells = CLUSTERS // CELL
    files = {
        f"clusters/{i:05d}.yaml": CELL_CLUSTER.format(i=i, cell=i % cells, region=i % 10) + STATUS
        for i in range(CLUSTERS)
    }
    for team in range(workloads // TEAM):
        policy = TEAM_POLICY.format(i=team, cells=f"c{team % cells}")
        files[f"policies/{team:05d}.yaml"] = policy.replace(BY_WEIGHT, WAYS[way])
    for i in range(workloads):
        files |= team_workload(i, 3 + i % 7)
    return files


def _first_pass(files: dict[str, str]) -> float:
    """Return the processor time of the first pass of a daemon over a new repository."""
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        repository = make_bare(Path(name) / "fleet.git", files)
        passes = replace(passes_of(repository, Given(NOW)), divided=lambda _world, _now: None)
        return _timed(passes.run)


def _world(files: dict[str, str]) -> World:
    """Return what a first pass decides from."""
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        return world_of(make_bare(Path(name) / "fleet.git", files))


def _decided(world: World) -> float:
    """Return the processor time of deciding a first pass."""
    return _timed(lambda: reconcile(world, NOW, memo=Memo()))


def _timed(run: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    run()
    return time.process_time() - started
