"""Which of the ranked clusters are taken: all, or as many as spread constraints ask for."""

from collections.abc import Sequence

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import DIVIDED, WEIGHTED, Placement, SpreadConstraint
from reconciler.dialects.karmada.scheduler.failure import Failure, scheduler_error
from reconciler.dialects.karmada.scheduler.rank import Ranking
from reconciler.dialects.karmada.scheduler.regions import select_by_region


def select_clusters(
    placement: Placement, replicas: int, ranking: Ranking, members: Members
) -> Sequence[int] | Failure:
    """Return the positions of the selected clusters, in the order of their selection.

    Of several constraints on one field the last counts. Constraints by provider and zone only
    filter; those by label are not supported.

    Args:
        placement: Names the constraints.
        replicas: What the selected clusters must have room for, unless replicas are duplicated.
        ranking: The feasible clusters.
        members: Says which region a cluster is in.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters.go
    `SelectBestClusters`.
    """
    if not placement.spread_constraints or ignores_spread(placement):
        return ranking.order
    by_field = {item.spread_by_field: item for item in placement.spread_constraints}
    clusters = by_field.get("cluster")
    if "region" in by_field:
        return select_by_region(
            by_field["region"],
            clusters or SpreadConstraint(),
            None if placement.duplicated else replicas,
            replicas,
            ranking,
            members,
        )
    if clusters is not None:
        return _select_by_cluster(clusters, None if placement.duplicated else replicas, ranking)
    return scheduler_error("just support cluster and region spread constraint")


def ignores_spread(placement: Placement) -> bool:
    """Return whether the strategy takes all clusters whatever the constraints: static weights do.

    A weight preference that is present and empty means equal weights too, yet does not ignore them.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters.go
    `shouldIgnoreSpreadConstraint`.
    """
    scheduling = placement.replica_scheduling
    if scheduling is None or scheduling.type != DIVIDED or scheduling.preference != WEIGHTED:
        return False
    weights = scheduling.weights
    return weights is None or (bool(weights.static_weights) and not weights.dynamic_weight)


def _select_by_cluster(
    constraint: SpreadConstraint, replicas: int | None, ranking: Ranking
) -> Sequence[int] | Failure:
    """Take the best clusters, then exchange the last of them for roomier ones until all fits.

    `replicas` is `None` where room does not matter.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters_by_cluster.go
    `selectBestClustersByCluster`; maxGroups left out counts as 0.
    """
    order = ranking.order
    if len(order) < constraint.min_groups:
        return scheduler_error(
            "the number of feasible clusters is less than spreadConstraint.MinGroups"
        )
    need = max(0, min(len(order), constraint.max_groups))
    if replicas is None:
        return order[:need]
    chosen, rest = list(order[:need]), list(order[need:])
    rooms = [ranking.available(position) for position in rest]
    total = sum(map(ranking.available, chosen))
    for place in range(need - 1, -1, -1):
        if total >= replicas:
            break
        room = ranking.available(chosen[place])
        best = max(rooms, default=room)
        if best > room:
            other = rooms.index(best)
            chosen[place], rest[other] = rest[other], chosen[place]
            rooms[other] = room
            total += best - room
    if not chosen or total < replicas:
        return scheduler_error(f"no enough resource when selecting {need} clusters")
    return chosen
