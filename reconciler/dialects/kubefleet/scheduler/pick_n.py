"""PickN: the best so many clusters, and fewer again when fewer are wanted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from reconciler.dialects.kubefleet.api.binding import Binding, unscheduled
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.binding_groups import Groups
from reconciler.dialects.kubefleet.scheduler.picks import Pick, PickRecord, cross_reference
from reconciler.dialects.kubefleet.scheduler.profile import describe_rejections, filter_members
from reconciler.dialects.kubefleet.scheduler.rank import rank
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot, SnapshotReport
from reconciler.dialects.kubefleet.view.decision_texts import (
    MAX_UNSELECTED,
    list_decisions,
    recorded_score,
)

TOPOLOGY_BATCH = 1  # topologyspreadconstraints/plugin.go PostBatch


def pick_n(
    snapshot: Snapshot,
    groups: Groups,
    request: Request,
    members: Members,
    existing: Mapping[str, Binding],
    now: datetime,
) -> Pick:
    """Pick as many clusters as are missing, or drop as many as are too many.

    With enough clusters nothing is picked, nothing moves, and obsolete bindings go. With topology
    constraints one cluster is picked a cycle, since each changes the spread for the next; only the
    last cycle reports.

    Args:
        snapshot: The present policy.
        groups: Bindings by group.
        request: Policy and state of the placement.
        members: Everyone.
        existing: Bindings by name.
        now: Aware UTC.

    Raises:
        UnexpectedBehavior: The number is missing, a cluster cannot be judged, or a binding cannot
            be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `runSchedulingCycleForPickNPlacementType`.
    """
    desired = snapshot.number_of_clusters
    missing = desired - groups.present
    if missing <= 0:
        record = PickRecord(request=request, missing=missing, limit=0)
        return replace(_scale_in(groups, desired), record=record)
    limit = min(missing, TOPOLOGY_BATCH) if request.policy.constraints else missing
    feasible, rejections = filter_members(request, members, now)
    ranked = rank(request, members, feasible, now)
    picked = tuple(islice(ranked, limit))
    record = PickRecord(
        request=request, feasible=feasible, picked=picked, missing=missing, limit=limit
    )
    pick = cross_reference(snapshot, groups, picked, existing)
    taken = len(pick.created) + len(pick.patched)
    if missing > limit and taken == limit:
        return Pick(
            created=pick.created,
            patched=pick.patched,
            dropped=pick.dropped,
            requeue=True,
            record=record,
        )
    decisions = list_decisions(
        (pick.created, pick.patched, groups.scheduled, groups.bound),
        ranked,
        describe_rejections(rejections, members, MAX_UNSELECTED),
    )
    count = taken + groups.present
    report = SnapshotReport(decisions, count, fulfilled=count >= desired)
    return replace(pick, record=record, report=report)


def _scale_in(groups: Groups, desired: int) -> Pick:
    """Drop obsolete bindings and those too many: scheduled before bound, low scores first.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go `downscale`.
    """
    surplus = groups.present - desired
    if not surplus and not groups.obsolete:
        return Pick(report=_selected((groups.bound, groups.scheduled), desired))
    scheduled, bound = groups.scheduled, groups.bound
    if 0 < surplus < len(scheduled):
        ordered = _worst_first(scheduled)
        dropped, scheduled = ordered[:surplus], ordered[surplus:]
    else:
        rest = surplus - len(scheduled)
        ordered = bound if rest in (0, len(bound)) else _worst_first(bound)
        if surplus:
            dropped, scheduled, bound = (*scheduled, *ordered[:rest]), (), ordered[rest:]
        else:
            dropped = ()
    return Pick(
        dropped=tuple(map(unscheduled, (*groups.obsolete, *dropped))),
        report=_selected((scheduled, bound), desired),
    )


def _worst_first(bindings: Sequence[Binding]) -> tuple[Binding, ...]:
    """Sort by recorded score, then by name of the cluster, both ascending."""
    return tuple(sorted(bindings, key=lambda item: (recorded_score(item.decision), item.target)))


def _selected(groups: tuple[tuple[Binding, ...], ...], desired: int) -> SnapshotReport:
    count = sum(map(len, groups))
    return SnapshotReport(list_decisions(groups), count, fulfilled=count >= desired)
