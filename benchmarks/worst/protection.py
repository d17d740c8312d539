"""What protected room costs beside the pass that decides; each binding is on up to five clusters.

It is run by itself, and has no row in the table: `python -m benchmarks.worst.protection [COUNT]`.
"""

import gc
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.delivery import NOW, world_of
from benchmarks.figure import Figure, Unit
from benchmarks.repositories import (
    CELL,
    CELL_CLUSTER,
    TEAM,
    TEAM_POLICY,
    push,
    team_workload,
    write_checkout,
)
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository

WORKLOADS, CLUSTERS = 10_000, 100
RUNS = 3
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
    """Yield the time of protection as a share of that of a first pass without it."""
    for way in WAYS:
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
            folder = Path(name)
            write_checkout(folder, {**_files(way, workloads), **_configured(on="false")})
            repository = Repository.open(folder)
            without = world_of(repository)
            push(repository, _configured(on="true"), at=datetime.now(UTC))
            protected = world_of(repository)
        alone, together = _best(without), _best(protected)
        share = (together - alone) / alone * 100
        title = f"protected room, {way}, of its first pass, {workloads:,} workloads"
        yield Figure(title, share, Unit.PERCENT, f"{together - alone:.2f} s")


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


def _best(world: World) -> float:
    """Return the processor time of a first pass, the best of some."""
    times = []
    for _ in range(RUNS):
        gc.collect()
        started = time.process_time()
        reconcile(world, NOW, memo=Memo())
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    for figure in figures(*map(int, sys.argv[1:])):
        print(f"{figure.name}: {figure.value:.1f} % ({figure.note})")
