"""The clusters of a result by their names; where all get the same, bindings share the entries."""

from collections.abc import Sequence
from functools import partial
from itertools import repeat

from reconciler.dialects.karmada.api.clusters import Members, SharedTargets, TargetCluster
from reconciler.dialects.karmada.scheduler.division import Division
from reconciler.model.identity import ClusterName
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, mask_of, positions_of

TARGETS_LIMIT = 128  # ours: 5,000 clusters times 128 numbers of replicas take about 50 MB

_target = partial(tuple.__new__, TargetCluster)  # half of the time that its own constructor takes


def targets_of(division: Division, members: Members, feasible: Mask) -> tuple[TargetCluster, ...]:
    """Return the clusters of a division, in its order; all of them are feasible."""
    shares, names = division.shares, members.fleet.names
    replicas = division.each
    if replicas is None or not shares:
        return tuple([_target((names[position], count)) for position, count in shares])
    positions = division.clusters or [position for position, _ in shares]
    shared = remember(members.targets, replicas, SharedTargets, limit=TARGETS_LIMIT)
    if not shared.clusters and shared.first is None:
        found = _made(positions, names, replicas)
        shared.first = positions, found
        return found
    if shared.first is not None:
        shared.targets = dict(zip(*shared.first, strict=True))
        shared.clusters, shared.first = mask_of(shared.first[0]), None
    wanting = Mask(feasible & ~shared.clusters)
    if wanting:
        others = positions_of(wanting)
        shared.targets |= zip(others, _made(others, names, replicas), strict=True)
        shared.clusters = Mask(shared.clusters | wanting)
    return tuple(map(shared.targets.__getitem__, positions))


def _made(
    positions: Sequence[int], names: Sequence[ClusterName], replicas: int
) -> tuple[TargetCluster, ...]:
    pairs = zip(map(names.__getitem__, positions), repeat(replicas))
    return tuple(map(_target, pairs))
