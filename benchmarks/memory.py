"""What a daemon holds in memory: with many placed bindings, and after a thousand passes."""

import gc
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.own_process import figures_of, hand_over, resident_megabytes
from benchmarks.repositories import (
    make_bare,
    manifests_of,
    passes_of,
    push,
    start_clock,
    workload,
)
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.processes.limits import collect_seldom

SIZE, LARGE = 10_000, 100_000
CLUSTERS = 50  # with 500 the bindings alone are 2 GB of text
SETTLING = (0, 1)
PASSES, WARMED_UP = 1000, 20
MANIFESTS = 1000
SHARDS = 100
POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: policy-{i:05d}
spec:
  resourceSelectors:
  - {{apiVersion: apps/v1, kind: Deployment, labelSelector: {{matchLabels: {{app: web-{i}}}}}}}
  placement:
    clusterAffinity:
      labelSelector: {{matchLabels: {{tier: t{tier}}}}}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
"""


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as groups are called
    """Yield what placed bindings take, and what a long run adds."""
    for size in (SIZE, *((LARGE,) if large else ())):
        yield from figures_of("memory", "placed", str(size))
    yield from figures_of("memory", "passes", str(PASSES))


def _placed(folder: Path, workloads: int) -> Iterator[Figure]:
    """Place so many workloads, by a hundred policies, on a quarter of the clusters each."""
    files = manifests_of(CLUSTERS, CLUSTERS)
    for i in range(SHARDS):
        files[f"policies/{i:05d}.yaml"] = POLICY.format(i=i, tier=i % 4)
    for i in range(workloads):
        for path, text in workload(i, 10 + 7 * i % 90).items():
            files[path] = text.replace("{app: web}", f"{{app: web-{i % SHARDS}}}")
    repository = make_bare(folder, files)
    del files
    clock = start_clock()
    runner = passes_of(repository, clock)
    for seconds in SETTLING:
        clock.moment += timedelta(seconds=seconds)
        _pass(runner)
    gc.collect()
    name = f"memory, {workloads:,} placed bindings"
    note = f"on {CLUSTERS // 4} clusters each"
    yield Figure(name, resident_megabytes(), Unit.MEGABYTES, note)


def _pass(runner: Passes) -> None:
    """Run a pass as a daemon does: what nobody waits for comes after it."""
    runner.run()
    while runner.rest():
        pass


def _passes(folder: Path, count: int) -> Iterator[Figure]:
    """Run passes, each after one changed workload."""
    repository = make_bare(folder, manifests_of(MANIFESTS))
    clock = start_clock()
    runner = passes_of(repository, clock)
    for seconds in SETTLING:
        clock.moment += timedelta(seconds=seconds)
        runner.run()

    def go_on(numbers: range) -> float:
        for number in numbers:
            clock.moment += timedelta(seconds=300)
            push(repository, workload(number % 400, 5 + number % 83), at=clock.moment)
            _commit(runner)
        gc.collect()
        return resident_megabytes()

    first = go_on(range(WARMED_UP))
    last = go_on(range(WARMED_UP, WARMED_UP + count))
    note = f"{first:.1f} MB, then {last:.1f} MB"
    more = 100 * (last / first - 1)
    yield Figure(f"memory, growth in {count:,} warm passes", more, Unit.PERCENT, note)


def _commit(runner: Passes) -> None:
    """Run one pass, which must have something to do."""
    assert runner.run().commit is not None  # noqa: S101  # what is measured must be what was meant


def main() -> None:
    """Print the figures of one question."""
    collect_seldom()  # as the command does
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    asked = {"placed": _placed, "passes": _passes}[sys.argv[1]]
    try:
        hand_over(asked(folder / "bare", int(sys.argv[2])))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
