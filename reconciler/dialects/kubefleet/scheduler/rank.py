"""The order in which clusters are picked: topology, affinity, kept before new, greater name."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.profile import PROFILE
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Levels, Mask, graded, positions_of

BIT_BY_BIT = 16  # ours: so many cost what one walk through 1,000 clusters does


def rank(
    request: Request, members: Members, feasible: Mask, now: datetime
) -> Iterator[RankedCluster]:
    """Return the feasible clusters, best first; they are found as far as they are asked for.

    The scores are compared in the order of the profile; of equals the cluster with the greater name
    comes first.

    Args:
        request: Policy and state of the placement.
        members: Everyone.
        feasible: Clusters that passed the filters.
        now: Aware UTC, for the scores; upstream's do not look at it.

    Raises:
        UnexpectedBehavior: A cluster cannot be scored; raised at once, not at the first item.

    Source: kubefleet@e160c1c pkg/scheduler/framework/score.go `ClusterScore.Less`, and
    frameworkutils.go `pickTopNScoredClusters`, which sorts in reverse.
    """
    answers = tuple(
        (name, score(request, members, feasible, now)) for name, score in PROFILE.scores.items()
    )
    return _walk(members, feasible, answers, {})


def _walk(
    members: Members,
    clusters: Mask,
    answers: tuple[tuple[str, Levels], ...],
    scores: Mapping[str, int],
) -> Iterator[RankedCluster]:
    """Yield clusters of equal scores so far by those scores that are still to be compared."""
    if not answers:
        names = members.fleet.names
        for position in _descending(clusters):
            yield RankedCluster(names[position], scores)
        return
    (name, levels), *others = answers
    for score, among in graded(levels, clusters):
        yield from _walk(members, among, tuple(others), {**scores, name: score})


def _descending(clusters: Mask) -> Iterator[int]:
    """Yield positions, the greatest first: a few bit by bit, since often one is all that is asked.

    >>> list(_descending(Mask(0b1101)))
    [3, 2, 0]
    """
    for _ in range(BIT_BY_BIT):
        if not clusters:
            return
        position = clusters.bit_length() - 1
        yield position
        clusters = Mask(clusters ^ 1 << position)
    yield from reversed(positions_of(clusters))
