"""KubeFleet's scheduler: one cycle over the bindings of a placement, or as many as it takes.

How placements want to be spread, by their topologySpreadConstraints, is answered here, too.
"""

from bisect import insort
from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import Binding, unscheduled
from reconciler.dialects.kubefleet.api.member import Members, member_labels
from reconciler.dialects.kubefleet.api.names import (
    CLUSTER,
    PARENT,
    SCHEDULER_FINALIZER,
    UnexpectedBehavior,
)
from reconciler.dialects.kubefleet.api.placement import (
    DEFAULT_MAX_SKEW,
    PICK_ALL,
    PICK_FIXED,
    PICK_N,
    decode_placement,
    decode_policy,
)
from reconciler.dialects.kubefleet.api.snapshots import PolicySnapshotStatus
from reconciler.dialects.kubefleet.scheduler.picks import (
    Groups,
    Pick,
    PickRecord,
    adopt,
    classify,
    pick_all,
    pick_fixed,
    pick_n,
    targets_of,
)
from reconciler.dialects.kubefleet.scheduler.plugins import PlacementRoom, Request
from reconciler.dialects.kubefleet.scheduler.topology import assess_topology
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import Snapshot, report_status
from reconciler.dialects.view import SpreadWish, SpreadWishes
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import stamp
from reconciler.model.records import dataclass, replace
from reconciler.model.world import World
from reconciler.schedule.framework import Mask

_name = attrgetter("name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """Where the scheduler leaves a placement.

    Attributes:
        bindings: Every binding that exists afterwards, by name.
        removed: Names of bindings whose last finalizer went.
        status: New status of the policy snapshot, `None` if the present one stays.
        requeue: Whether another cycle must follow at once.
        error: Why it stopped, `None` if it did not; what was done before stands.
        records: What each cycle looked at, in order; a cycle that failed has none.
    """

    bindings: Mapping[str, Binding]
    removed: tuple[str, ...] = ()
    status: PolicySnapshotStatus | None = None
    requeue: bool = False
    error: UnexpectedBehavior | None = None
    records: tuple[PickRecord, ...] = ()


def schedule(
    snapshot: Snapshot,
    bindings: Iterable[Binding],
    members: Members,
    now: datetime,
    room: PlacementRoom | None = None,
) -> Scheduled:
    """Run cycles until none asks for another: one call settles a placement.

    Args:
        snapshot: The present policy and its status.
        bindings: In whatever order; those of other placements are left alone.
        members: Everyone, at `now`.
        now: Aware UTC.
        room: What is free for it, `None` where no room is protected.

    Source: kubefleet@e160c1c pkg/scheduler/scheduler.go `scheduleOnce`: a requeue is immediate.
    """
    start = _begin(snapshot, bindings, members)
    result, pick = _cycle(start, snapshot, members, now, room)
    removed, records = [*result.removed], [*result.records]
    while result.requeue:
        start = _go_on(start, pick, result, snapshot, members)
        result, pick = _cycle(start, snapshot, members, now, room)
        removed += result.removed
        records += result.records
    return replace(result, removed=tuple(removed), records=tuple(records))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Where a cycle begins: what is swept away first, the bindings, and where they are."""

    swept: Scheduled
    groups: Groups
    placed: Mask
    obsolete: Mask


def _begin(snapshot: Snapshot, bindings: Iterable[Binding], members: Members) -> _Start:
    """Classify the bindings, let go of deleting ones and drop those whose cluster is gone."""
    ordered = sorted(bindings, key=lambda binding: binding.name)
    own = [
        item
        for item in ordered
        if (item.namespace, item.labels.get(PARENT)) == (snapshot.namespace, snapshot.placement)
    ]
    groups = classify(own, snapshot.name, members)
    released = [
        _release(item) for item in groups.deleting if SCHEDULER_FINALIZER in item.finalizers
    ]
    swept = [*released, *map(unscheduled, groups.dangling)]
    existing = {binding.name: binding for binding in (*ordered, *swept)}
    removed = tuple(item.name for item in released if not item.finalizers)
    return _Start(
        swept=Scheduled(
            bindings={name: item for name, item in existing.items() if name not in removed},
            removed=removed,
        ),
        groups=groups,
        placed=targets_of(members, groups.scheduled, groups.bound),
        obsolete=targets_of(members, groups.obsolete),
    )


def _go_on(
    start: _Start, pick: Pick, result: Scheduled, snapshot: Snapshot, members: Members
) -> _Start:
    """Return where the next cycle begins; if only bindings were created, these are added."""
    groups = start.groups
    if pick.patched or pick.dropped or groups.deleting or groups.dangling:
        return _begin(snapshot, result.bindings.values(), members)
    scheduled = list(groups.scheduled)
    for binding in pick.created:
        insort(scheduled, binding, key=lambda item: item.name)
    return _Start(
        swept=Scheduled(bindings=result.bindings),
        groups=replace(groups, scheduled=tuple(scheduled)),
        placed=Mask(start.placed | targets_of(members, pick.created)),
        obsolete=start.obsolete,
    )


def _cycle(
    start: _Start,
    snapshot: Snapshot,
    members: Members,
    now: datetime,
    room: PlacementRoom | None = None,
) -> tuple[Scheduled, Pick]:
    """Run a cycle from where it begins."""
    try:
        pick = _pick(start, snapshot, members, now, room)
    except UnexpectedBehavior as error:
        return replace(start.swept, error=error), Pick()
    return _report(_carry_out(start.swept, pick), snapshot, pick, now), pick


def reschedule(
    snapshot: Snapshot,
    bindings: Iterable[Binding],
    members: Members,
    now: datetime,
    room: PlacementRoom | None = None,
) -> Scheduled:
    """Choose as if nothing were placed; bindings of clusters that are chosen again stay.

    The others are dropped, as after a change of the policy, but without the preference that such a
    change leaves to clusters placed before. How fast they go is up to the rollout.

    Args:
        snapshot: The present policy and its status.
        bindings: All of the placement, in whatever order.
        members: Everyone, at `now`.
        now: Aware UTC.
        room: What is free for it, `None` where no room is protected.

    Source: ours; KubeFleet has no rebalancer, and evicts by ClusterResourcePlacementEviction.
    """
    fresh = schedule(snapshot, (), members, now, room)
    if fresh.error is not None:
        return fresh
    ordered = sorted(bindings, key=lambda binding: binding.name)
    groups = classify(ordered, snapshot.name, members)
    gone = tuple(map(unscheduled, groups.dangling))
    existing = {binding.name: binding for binding in (*ordered, *gone)}
    try:
        pick = adopt(
            snapshot,
            sorted((*groups.obsolete, *groups.scheduled, *groups.bound), key=lambda b: b.name),
            groups.unscheduled,
            {binding.target: binding.decision for binding in fresh.bindings.values()},
            existing,
        )
    except UnexpectedBehavior as error:
        return replace(fresh, bindings=existing, error=error)
    done = _carry_out(Scheduled(bindings=existing), pick)
    return replace(done, status=fresh.status, records=fresh.records)


def _release(binding: Binding) -> Binding:
    """Return a binding without the scheduler's finalizer."""
    finalizers = tuple(item for item in binding.finalizers if item != SCHEDULER_FINALIZER)
    return binding._replace(finalizers=finalizers)


def _pick(
    start: _Start,
    snapshot: Snapshot,
    members: Members,
    now: datetime,
    room: PlacementRoom | None,
) -> Pick:
    """Do what the placement type says; an unknown type does nothing."""
    policy, groups, existing = snapshot.policy, start.groups, start.swept.bindings
    if policy.placement_type == PICK_FIXED:
        return pick_fixed(snapshot, groups, members, existing, room)
    if policy.placement_type not in (PICK_ALL, PICK_N):
        return Pick()
    request = Request(
        policy=policy,
        topology=assess_topology(policy.constraints, members, start.placed),
        namespace=snapshot.namespace,
        placed=start.placed,
        obsolete=start.obsolete,
        room=room,
    )
    by_type = pick_all if policy.placement_type == PICK_ALL else pick_n
    return by_type(snapshot, groups, request, members, existing, now)


def _carry_out(before: Scheduled, pick: Pick) -> Scheduled:
    """Write the bindings: create, patch, drop."""
    changed = (*pick.created, *pick.patched, *pick.dropped)
    return Scheduled(
        bindings={**before.bindings, **dict(zip(map(_name, changed), changed, strict=True))},
        removed=before.removed,
        status=before.status,
        requeue=pick.requeue,
        error=before.error,
        records=() if pick.record is None else (pick.record,),
    )


def _report(done: Scheduled, snapshot: Snapshot, pick: Pick, now: datetime) -> Scheduled:
    """Write the snapshot's status, if there is something to say."""
    if pick.report is None:
        return done
    try:
        status = report_status(snapshot, pick.report, at=stamp(now))
    except UnexpectedBehavior as error:
        return replace(done, error=error)
    return done if status is None else replace(done, status=status)


def spread_wishes(world: World) -> SpreadWishes:
    """Return what says how placements want to be spread over the clusters of a world."""
    labels = {one.key.name: member_labels(one.body) for one in world.of_kind(*CLUSTER)}
    values: dict[str, dict[str, str]] = {}

    def domains(label: str) -> dict[str, str]:
        if label not in values:
            values[label] = {n: found[label] for n, found in labels.items() if label in found}
        return values[label]

    def of_placement(key: ObjectKey) -> tuple[SpreadWish, ...]:
        manifest = world.inputs.get(key)
        if manifest is None:
            return ()
        try:
            policy = decode_policy(decode_placement(manifest.body, key.namespace).policy)
        except UserError:  # what cannot be decoded is a fault already
            return ()
        return tuple(
            SpreadWish(
                name=one.topology_key,
                domain_of=domains(one.topology_key),
                skew=DEFAULT_MAX_SKEW if one.max_skew is None else one.max_skew,
            )
            for one in policy.constraints
        )

    return of_placement
