"""The order in which clusters are picked: topology, affinity, kept before new, greater name."""

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.filter_same_placement import kept_scores
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.dialects.kubefleet.scheduler.score_affinity import affinity_scores
from reconciler.model.identity import ClusterName
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, bits_of


@dataclass(frozen=True, slots=True)
class RankedCluster:
    """A cluster and the two scores that are shown."""

    name: ClusterName
    affinity: int = 0
    topology: int = 0


def rank(request: Request, members: Members, feasible: Mask) -> Iterator[RankedCluster]:
    """Return the feasible clusters, best first; they are found as far as they are asked for.

    The topology score counts first, then affinity, then whether an earlier policy had picked the
    cluster; of equals the one with the greater name comes first.

    Args:
        request: Policy and state of the placement.
        members: Everyone.
        feasible: Clusters that passed the filters.

    Raises:
        UnexpectedBehavior: A cluster cannot be scored; raised at once, not at the first item.

    Source: kubefleet@e160c1c pkg/scheduler/framework/score.go `ClusterScore.Less`, and
    frameworkutils.go `pickTopNScoredClusters`, which sorts in reverse.
    """
    column = affinity_scores(request, members, feasible)
    key = (request.policy.preferred, request.obsolete)
    order = remember(members.orders, key, lambda: _order(request, members, column))
    return _walk(request, members, feasible, column, order)


def _order(request: Request, members: Members, column: tuple[int, ...]) -> tuple[int, ...]:
    """Return the positions of all clusters, best first as far as topology leaves it open."""
    kept = kept_scores(request, members)
    positions = range(len(members.views) - 1, -1, -1)
    return tuple(sorted(positions, key=lambda i: (column[i], kept[i]), reverse=True))


def _walk(
    request: Request,
    members: Members,
    feasible: Mask,
    column: tuple[int, ...],
    order: tuple[int, ...],
) -> Iterator[RankedCluster]:
    names, size = members.fleet.names, len(members.views)
    for topology, clusters in sorted(request.topology.scores, key=lambda entry: -entry[0]):
        chosen = bits_of(Mask(clusters & feasible), size)
        for position in order:
            if chosen[position]:
                yield RankedCluster(names[position], column[position], topology)
