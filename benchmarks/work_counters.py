"""How much passes do, in calls of functions: after one change, and of each object that is new.

Times depend on the machine, calls do not: what follows a change alone stays the same, whatever
else is in the repository, and a first pass decides each object as often as it has to.
"""

import cProfile
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import CodeType

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import (
    change,
    make_bare,
    make_repository,
    passes_of,
    start_clock,
    teams_of,
    workload,
)
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.karmada.decide import decide
from reconciler.dialects.karmada.detector.binding_draft import draft_binding
from reconciler.dialects.kubefleet.decide import decide as decide_in_kubefleet
from reconciler.dialects.ocm.decide import decide as decide_in_ocm
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.emitter import encode
from reconciler.shell.git.repository import Repository

SIZES = (1000, 10_000)
CLUSTERS = 100
COUNTED: Mapping[str, Callable[..., object]] = {
    "drafted": draft_binding,
    "decided": decide,
    "encoded": encode,
    "hashed": blob_id,
}


NEW = 50  # objects of a first pass whose decisions are counted
HUB = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1, labels: {cluster.open-cluster-management.io/clusterset: all}}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: all}
spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: all, namespace: default}
spec: {clusterSet: all}
"""
HUB_PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: p{i}, namespace: default}}
spec: {{clusterSets: [all]}}
"""
MEMBER = """\
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: c1}
spec: {identity: {kind: ServiceAccount, name: c1, namespace: fleet-system}}
"""
FLEET_PLACEMENT = """\
apiVersion: v1
kind: Namespace
metadata: {{name: n{i}}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {{name: p{i}}}
spec:
  resourceSelectors: [{{group: "", version: v1, kind: Namespace, name: n{i}}}]
  policy: {{placementType: PickAll}}
"""


@contextmanager
def counted() -> Iterator[Counter[CodeType]]:
    """Count the calls of Python functions, by their code; they are there once it is over."""
    calls: Counter[CodeType] = Counter()
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        yield calls
    finally:
        profile.disable()
        for one in profile.getstats():
            if isinstance(one.code, CodeType):
                calls[one.code] += one.callcount


def work_after_one_change(folder: Path, manifests: int, clusters: int) -> Mapping[str, int]:
    """Return what one changed workload costs, by what is counted; `calls` are those of anything."""
    make_repository(folder, manifests, clusters=clusters)
    repository = Repository.open(folder)
    clock = start_clock()
    runner = passes_of(repository, clock)
    loader = runner.loader
    memo = Memo()

    def settle() -> None:
        for _ in range(3):
            runner.run()
            world = loader.load(repository.resolve("main"))
            reconcile(world, clock.moment, memo=memo)
            clock.moment += timedelta(seconds=100)

    settle()
    change(folder, workload(1, 3))
    with counted() as calls:
        world = loader.load(repository.resolve("main"))
        outcome = reconcile(world, clock.moment, memo=memo)
    assert len(outcome.decisions) == 1  # noqa: S101  # what is measured must be what was meant
    return {
        **{name: calls[function.__code__] for name, function in COUNTED.items()},
        "calls": calls.total(),
    }


def decisions_of_first_passes() -> Iterator[tuple[str, int]]:
    """Yield how many decisions each API takes for so many new objects; all others are there."""
    placements = {f"{i}.yaml": HUB_PLACEMENT.format(i=i) for i in range(NEW)}
    others = {f"{i}.yaml": FLEET_PLACEMENT.format(i=i) for i in range(NEW)}
    differing = {
        path: text.replace("250m", f"{number}m")
        for number, (path, text) in enumerate(sorted(teams_of(5, NEW).items()))
    }
    for name, files, function in (
        ("bindings of Karmada", differing, decide),
        ("placements of OCM", {**placements, "hub.yaml": HUB}, decide_in_ocm),
        ("placements of KubeFleet", {**others, "fleet.yaml": MEMBER}, decide_in_kubefleet),
    ):
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as place:
            repository = make_bare(Path(place) / "fleet", files)
            clock = start_clock()
            world = passes_of(repository, clock).loader.load(repository.resolve("main"))
            with counted() as calls:
                outcome = reconcile(world, clock.moment)
        assert len(outcome.decisions) == NEW  # noqa: S101  # each is placed
        yield f"decisions of {NEW} new {name}", calls[function.__code__]


def figures() -> Iterator[Figure]:
    """Yield what is counted at each size, and by how much all calls grow."""
    calls = []
    for size in SIZES:
        folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        try:
            work = work_after_one_change(folder, size, CLUSTERS)
        finally:
            shutil.rmtree(folder)
        for name, count in work.items():
            title = "calls of any function" if name == "calls" else name
            yield Figure(f"{title} in a warm pass, {size:,} manifests", count, Unit.COUNT)
        calls.append(work["calls"])
    more = 100 * (calls[1] / calls[0] - 1)
    yield Figure("calls of a warm pass, more at 10,000 than at 1,000", more, Unit.PERCENT)
