"""The order in which clusters are picked: topology, affinity, kept before new, greater name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.profile import PROFILE
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Levels, Mask, grades, positions_of

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
    return _ranked(rank_groups(request, members, feasible, now), members)


def _ranked(
    groups: Iterable[tuple[Mapping[str, int], Mask]], members: Members
) -> Iterator[RankedCluster]:
    """Yield the clusters of the groups; those of one share the mapping of their scores."""
    names = members.fleet.names
    for scores, clusters in groups:
        for position in _descending(clusters):
            yield RankedCluster(names[position], scores)


def rank_groups(
    request: Request, members: Members, feasible: Mask, now: datetime
) -> Iterator[tuple[Mapping[str, int], Mask]]:
    """Return the feasible clusters by equal scores, best first; see `rank`."""
    answers = [
        (name, score(request, members, feasible, now)) for name, score in PROFILE.scores.items()
    ]
    compared = len(answers)
    while compared > 1 and not answers[compared - 1][1]:
        compared -= 1  # scores of which the last ones are 0 everywhere need no comparison
    rest = {name: 0 for name, _ in answers[compared:]}
    return _walk(feasible, answers[:compared], {}, rest)


def _walk(
    clusters: Mask,
    answers: Sequence[tuple[str, Levels]],
    scores: Mapping[str, int],
    rest: Mapping[str, int],
) -> Iterator[tuple[Mapping[str, int], Mask]]:
    """Yield clusters of equal scores so far by those scores that are still to be compared."""
    (name, levels), *others = answers
    for score, among in grades(levels, clusters) if levels else ((0, clusters),):
        if others:
            yield from _walk(among, others, {**scores, name: score}, rest)
        elif among:
            yield {**scores, name: score, **rest}, among


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
