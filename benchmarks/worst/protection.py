"""What protected room costs beside its pass; each binding is on up to five clusters."""

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.delivery import NOW
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
from reconciler.model.records import replace

WORKLOADS, CLUSTERS = 10_000, 100
RUNS = 4
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
    """Yield the time of protection as a share of that of a first pass: read, decided and committed.

    Processor time, in one process: a protected pass is not divided, so it would win where the time
    of all processes is counted. Passes without and with it take turns, since machines have moods;
    the typical time of either counts.
    """
    for way in WAYS:
        settings = [{**_files(way, workloads), **_configured(on=on)} for on in ("false", "true")]
        runs = [list(map(_first_pass, settings)) for _ in range(RUNS)]
        alone, together = map(median, zip(*runs, strict=True))
        name = f"protected room, {way}, of its first pass, {workloads:,} workloads"
        note = f"{together - alone:.2f} of {alone:.2f} s"
        yield Figure(name, (together - alone) / alone * 100, Unit.PERCENT, note)


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


def _timed(run: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    run()
    return time.process_time() - started
