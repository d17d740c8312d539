"""PickAll: every feasible cluster."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from itertools import compress

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.binding_groups import Groups
from reconciler.dialects.kubefleet.scheduler.picks import Pick, PickRecord, adopt
from reconciler.dialects.kubefleet.scheduler.profile import describe_rejections, filter_members
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot, SnapshotReport
from reconciler.dialects.kubefleet.view.decision_texts import (
    MAX_UNSELECTED,
    list_decisions,
    picked_decisions,
)
from reconciler.model.world import Body
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import bits_of


def pick_all(
    snapshot: Snapshot,
    groups: Groups,
    request: Request,
    members: Members,
    existing: Mapping[str, Binding],
    now: datetime,
) -> Pick:
    """Pick every cluster that passes the filters, ascending by name, with scores of 0.

    It is always fulfilled, even with no cluster at all.

    Args:
        snapshot: The present policy.
        groups: Bindings by group.
        request: Policy and state of the placement.
        members: Everyone.
        existing: Bindings by name.
        now: Aware UTC.

    Raises:
        UnexpectedBehavior: A cluster cannot be judged, or a binding cannot be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `runSchedulingCycleForPickAllPlacementType`.
    """
    feasible, rejections = filter_members(request, members, now)
    unscored = remember(members.unscored, True, lambda: _unscored(members))
    chosen = list(compress(unscored, bits_of(feasible, len(unscored))))
    decided = {cluster.name: decision for cluster, decision in chosen}
    pick = adopt(snapshot, groups.obsolete, groups.unscheduled, decided, existing)
    decisions = list_decisions(
        (pick.created, pick.patched, groups.scheduled, groups.bound),
        filtered=describe_rejections(rejections, members, MAX_UNSELECTED),
    )
    count = len(pick.created) + len(pick.patched) + groups.present
    return replace(
        pick,
        report=SnapshotReport(decisions, count, fulfilled=True),
        record=PickRecord(
            request=request, feasible=feasible, picked=tuple(cluster for cluster, _ in chosen)
        ),
    )


def _unscored(members: Members) -> tuple[tuple[RankedCluster, Body], ...]:
    """Return each cluster with the decision for it, the same in all placements."""
    ranked = list(map(RankedCluster, members.fleet.names))
    if not ranked:
        return ()
    return tuple(zip(ranked, picked_decisions(members.fleet.names, ranked[0]), strict=True))
