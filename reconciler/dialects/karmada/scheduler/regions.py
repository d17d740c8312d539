"""Selection by region: score each region, find the best set of regions, take their clusters."""

from collections import defaultdict
from collections.abc import Sequence

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import SpreadConstraint
from reconciler.dialects.karmada.scheduler.failure import Failure, scheduler_error
from reconciler.dialects.karmada.scheduler.rank import Ranking
from reconciler.dialects.karmada.scheduler.region_sets import Region, choose_regions

WEIGHT_UNIT = 1000  # karmada@f8fdd02 group_clusters.go: room before scores
INFINITE = -(2**63)  # what amd64 makes of an infinite float64, converted to int64


def select_by_region(
    region_constraint: SpreadConstraint,
    cluster_constraint: SpreadConstraint,
    divided_replicas: int | None,
    replicas: int,
    ranking: Ranking,
    members: Members,
) -> Sequence[int] | Failure:
    """Return the best cluster of each chosen region, then the best of the rest of these regions.

    Whether the clusters have room for all replicas is not checked here.

    Args:
        region_constraint: How many regions.
        cluster_constraint: How many clusters; all zero where there is no such constraint.
        divided_replicas: What the regions share, `None` where each cluster gets all replicas.
        replicas: What each cluster gets where they do not share.
        ranking: The feasible clusters.
        members: Says which region a cluster is in.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters_by_region.go
    `selectBestClustersByRegion`.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    order = ranking.order
    for region, position in zip(map(members.regions.__getitem__, order), order, strict=True):
        groups[region].append(position)
    groups.pop("", None)
    least = region_constraint.min_groups
    if len(groups) < least:
        return scheduler_error(
            "the number of feasible region is less than spreadConstraint.MinGroups"
        )
    fewest = max(cluster_constraint.min_groups, least)
    regions = [
        Region(
            name,
            clusters,
            score_duplicated(clusters, replicas, ranking)
            if divided_replicas is None
            else score_divided(clusters, divided_replicas, least, fewest, ranking),
        )
        for name, clusters in groups.items()
    ]
    chosen = choose_regions(
        regions,
        fewest=least,
        most=region_constraint.max_groups,
        min_clusters=cluster_constraint.min_groups,
    )
    if not chosen:
        return scheduler_error(
            "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        )
    return _clusters_of(chosen, cluster_constraint.max_groups, ranking)


def _clusters_of(chosen: Sequence[Region], most: int, ranking: Ranking) -> list[int]:
    selected = [region.clusters[0] for region in chosen]
    offered = {position for region in chosen for position in region.clusters}
    missing = min(len(offered), most) - len(selected)
    if missing > 0:
        offered.difference_update(selected)
        rest = (position for position in ranking.order if position in offered)
        selected += [position for position, _ in zip(rest, range(missing), strict=False)]
    return selected


def score_duplicated(clusters: Sequence[int], replicas: int, ranking: Ranking) -> int:
    """Score a region by how many clusters could take all replicas, then by their mean score.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/group_clusters.go
    `calcGroupScoreForDuplicate`.
    """
    valid = [position for position in clusters if ranking.available(position) >= replicas]
    if not valid:
        return 0
    return len(valid) * WEIGHT_UNIT + sum(map(ranking.score, valid)) // len(valid)


def score_divided(
    clusters: Sequence[int], replicas: int, min_groups: int, fewest: int, ranking: Ranking
) -> int:
    """Score a region by whether its best clusters have room for its share, then by mean score.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/group_clusters.go `calcGroupScore`.
    Without minGroups the share is a division by zero, which Go leaves to the platform.
    """
    target = -(-replicas // min_groups) if min_groups else INFINITE
    room = score = 0
    walked = 0
    for position in clusters:
        room += ranking.available(position)
        score += ranking.score(position)
        walked += 1
        if walked >= fewest and room >= target:
            break
    if room < target:
        return _wrap64(room * WEIGHT_UNIT + score // len(clusters))
    return _wrap64(target * WEIGHT_UNIT + score // walked)


def _wrap64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
