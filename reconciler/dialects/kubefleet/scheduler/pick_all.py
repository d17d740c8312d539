"""PickAll: every feasible cluster."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from itertools import compress

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.cluster_decision import ClusterDecision
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.binding_groups import Groups
from reconciler.dialects.kubefleet.scheduler.picks import Pick, PickRecord, adopt
from reconciler.dialects.kubefleet.scheduler.profile import describe_rejections, filter_members
from reconciler.dialects.kubefleet.scheduler.protected_room import lacks_room
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot, SnapshotReport
from reconciler.dialects.kubefleet.view.decision_texts import (
    MAX_UNSELECTED,
    list_decisions,
    picked_decisions,
)
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

    It is always fulfilled, even with no cluster at all. Unlike upstream: not where room is
    protected, and a cluster that fits otherwise has none.

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
    ranked, made = remember(members.unscored, True, lambda: _unscored(members))
    bits = bits_of(feasible, len(ranked))
    decided = dict(zip(compress(members.fleet.names, bits), compress(made, bits), strict=True))
    pick = adopt(snapshot, groups.obsolete, groups.unscheduled, decided, existing)
    decisions = list_decisions(
        (pick.created, pick.patched, groups.scheduled, groups.bound),
        filtered=describe_rejections(rejections, members, MAX_UNSELECTED),
    )
    count = len(pick.created) + len(pick.patched) + groups.present
    return replace(
        pick,
        report=SnapshotReport(decisions, count, fulfilled=not lacks_room(rejections)),
        record=PickRecord(request=request, feasible=feasible, picked=tuple(compress(ranked, bits))),
    )


def _unscored(members: Members) -> tuple[tuple[RankedCluster, ...], tuple[ClusterDecision, ...]]:
    """Return each cluster, and the decision for it, the same in all placements."""
    ranked = tuple(map(RankedCluster, members.fleet.names))
    return ranked, tuple(picked_decisions(ranked))
