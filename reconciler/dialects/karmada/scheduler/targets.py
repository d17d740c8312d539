"""The clusters of a result by their names; where all get the same, bindings share the entries."""

from functools import partial
from itertools import repeat
from operator import itemgetter

from reconciler.dialects.karmada.api.clusters import Members, SharedTargets, TargetCluster
from reconciler.dialects.karmada.scheduler.divide import Division
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, positions_of

TARGETS_LIMIT = 128  # ours: 5,000 clusters times 128 numbers of replicas take about 50 MB

_target = partial(tuple.__new__, TargetCluster)  # half of the time that its own constructor takes


def targets_of(division: Division, members: Members, feasible: Mask) -> tuple[TargetCluster, ...]:
    """Return the clusters of a division, in its order; all of them are feasible."""
    shares, names = division.shares, members.fleet.names
    replicas = division.each
    if replicas is None or not shares:
        return tuple([_target((names[position], count)) for position, count in shares])
    shared = remember(members.targets, replicas, SharedTargets, limit=TARGETS_LIMIT)
    wanting = Mask(feasible & ~shared.clusters)
    if wanting:
        positions = positions_of(wanting)
        pairs = zip([names[position] for position in positions], repeat(replicas))
        shared.targets |= zip(positions, map(_target, pairs), strict=False)
        shared.clusters = Mask(shared.clusters | wanting)
    targets = shared.targets
    return tuple(map(targets.__getitem__, map(itemgetter(0), shares)))
