"""What advice on all objects of three APIs costs once they are loaded; by its own process."""

import gc
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import process_time

from benchmarks.figure import Figure, Unit
from benchmarks.own_process import figures_of, hand_over
from benchmarks.repositories import (
    TAINT,
    cluster,
    make_bare,
    passes_of,
    push,
    start_clock,
    workload,
)
from reconciler.audit.advice import advise
from reconciler.audit.gains import AdviceRequest, Goal, ScoreFamily
from reconciler.dialects.scores import ScoreName
from reconciler.shell.processes.limits import collect_seldom

OBJECTS = 10_000
CLUSTERS, OTHER_CLUSTERS = 100, 20
TIERS = 10  # one of them is tainted when everything is placed, so a tenth is away from home

POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: policy-{i:05d}
spec:
  resourceSelectors:
  - {{apiVersion: apps/v1, kind: Deployment, name: web-{i:05d}}}
  placement:
    clusterAffinities:
    - {{affinityName: home, labelSelector: {{matchLabels: {{tier: t{tier}}}}}}}
    - {{affinityName: away, labelSelector: {{matchLabels: {{tier: t{other}}}}}}}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
"""
MANAGED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: managed-{i:03d}
  labels: {{cluster.open-cluster-management.io/clusterset: all}}
"""
SET = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: all}
spec: {}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: all, namespace: default}
spec: {clusterSet: all}
"""
PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: placement-{i:05d}, namespace: default}}
spec: {{numberOfClusters: 3}}
"""
MEMBER = """\
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {{name: fleet-{i:03d}, labels: {{zone: z{zone}}}}}
spec: {{identity: {{kind: User, name: fleet-{i:03d}}}}}
"""
FLEET_PLACEMENT = """\
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {{name: fleet-{i:05d}}}
spec:
  resourceSelectors: [{{group: "", version: v1, kind: Namespace, name: none-{i:05d}}}]
  policy:
    placementType: PickN
    numberOfClusters: 3
    topologySpreadConstraints: [{{topologyKey: zone, maxSkew: 1}}]
"""
SCORE = """\
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {{name: price, namespace: {0}}}
status: {{scores: [{{name: hour, value: {1}}}]}}
"""
USUAL = AdviceRequest(
    goals=frozenset({Goal.AFFINITY, Goal.SPREAD, Goal.ROOM}),
    name="advice",
)
BY_SCORE = AdviceRequest(
    goals=frozenset({Goal.SCORE}),
    family=ScoreFamily(score=ScoreName("price", "hour")),
    name="advice",
)


def figures(_large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as groups are called
    """Yield what advice costs where a tenth of the workloads is away from home.

    By score every object might be better off elsewhere, so every one is asked.
    """
    yield from figures_of("advice", str(OBJECTS))


def files_of(objects: int) -> dict[str, str]:
    """Return objects, a twentieth of each other API; clusters of the first tier are tainted."""
    files = {"hub/set.yaml": SET}
    for i in range(CLUSTERS):
        files[_path(i)] = _cluster(i) + (TAINT if i % TIERS == 0 else "")
    for i in range(OTHER_CLUSTERS):
        files[f"hub/clusters/{i:03d}.yaml"] = MANAGED.format(i=i)
        files[f"fleet/clusters/{i:03d}.yaml"] = MEMBER.format(i=i, zone=i % 3)
    for i in range(objects // 20):
        files[f"hub/placements/{i:05d}.yaml"] = PLACEMENT.format(i=i)
        files[f"fleet/placements/{i:05d}.yaml"] = FLEET_PLACEMENT.format(i=i)
    for i in range(objects - 2 * (objects // 20)):
        tier = i % TIERS
        files[f"policies/{i:05d}.yaml"] = POLICY.format(i=i, tier=tier, other=(tier + 1) % TIERS)
        files |= workload(i, 10 + 7 * i % 90)
    return files


def _cluster(number: int) -> str:
    return cluster(number).replace(f"tier: t{number % 4}", f"tier: t{number % TIERS}")


def _path(number: int) -> str:
    return f"clusters/{number:05d}.yaml"


def _scores() -> str:
    """Return a score of each cluster, whatever API has it."""
    names = [f"member-{i:05d}" for i in range(CLUSTERS)]
    names += [f"{kind}-{i:03d}" for kind in ("managed", "fleet") for i in range(OTHER_CLUSTERS)]
    values = [37 * i % 201 - 100 for i in range(len(names))]
    return "---\n".join(map(SCORE.format, names, values))


def _measure(folder: Path, objects: int) -> Iterator[Figure]:
    clock = start_clock()
    repository = make_bare(folder, files_of(objects))
    passes = passes_of(repository, clock)
    passes.run()
    clock.moment += timedelta(seconds=120)
    eased = {_path(i): _cluster(i) for i in range(0, CLUSTERS, TIERS)}
    push(repository, {**eased, "hub/scores.yaml": _scores()}, at=clock.moment)
    passes.run()
    clock.moment += timedelta(seconds=120)
    world = passes.loader.load(passes.branch.head())
    del passes
    gc.collect()
    for name, request in (("advice", USUAL), ("advice by score", BY_SCORE)):
        start = process_time()
        advice = advise(world, clock.moment, request)
        took = process_time() - start
        note = f"{len(advice.moves):,} of {len(advice.moves) + len(advice.others):,} are advised"
        yield Figure(f"{name}, {objects:,} objects", took, Unit.SECONDS, note)


def main() -> None:
    """Print the figure of one repository."""
    collect_seldom()  # as the command does
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        hand_over(_measure(folder / "repository", int(sys.argv[1])))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
