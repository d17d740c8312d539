"""PickFixed: the clusters that the policy names."""

from collections.abc import Mapping

from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    previous_state,
    reassigned,
    unscheduled,
)
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.binding_groups import Groups
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.scheduler.picks import Pick, PickRecord, new_bindings
from reconciler.dialects.kubefleet.scheduler.protected_room import PlacementRoom
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot, SnapshotReport
from reconciler.dialects.kubefleet.view.decision_texts import (
    fixed_decision,
    invalid_decision,
    missing_decision,
)
from reconciler.model.identity import ClusterName


def pick_fixed(
    snapshot: Snapshot,
    groups: Groups,
    members: Members,
    existing: Mapping[str, Binding],
    room: PlacementRoom | None = None,
) -> Pick:
    """Bind the clusters that the policy names, as far as they exist and are eligible.

    Affinity, taints and topology do not matter. A binding of the present policy stays even if its
    cluster is not eligible any more, though the status says otherwise. An empty list of names does
    nothing at all.

    Args:
        snapshot: The present policy.
        groups: Bindings by group.
        members: Everyone.
        existing: Bindings by name.
        room: What is free for it, `None` where no room is protected.

    Raises:
        UnexpectedBehavior: A state was not remembered, or a name cannot be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `runSchedulingCycleForPickFixedPlacementType`, and frameworkutils.go
    `crossReferenceValidTargetsWithBindings`.
    """
    wanted = snapshot.policy.cluster_names
    if not wanted:
        return Pick()
    valid, refused = _judge(wanted, members, room)
    created, patched = _bind(snapshot, groups, valid, existing)
    kept = set(valid)
    report = SnapshotReport(
        decisions=(
            *map(fixed_decision, valid),
            *(invalid_decision(name, reason) for name, reason in refused if reason),
            *(missing_decision(name) for name, reason in refused if not reason),
        ),
        count=len(valid),
        fulfilled=not refused,
    )
    return Pick(
        created=created,
        patched=patched,
        dropped=tuple(unscheduled(item) for item in groups.obsolete if item.target not in kept),
        report=report,
        record=PickRecord(
            picked=tuple(map(RankedCluster, valid)), missing=len(wanted), limit=len(wanted)
        ),
    )


def _judge(
    wanted: tuple[str, ...], members: Members, room: PlacementRoom | None
) -> tuple[list[ClusterName], list[tuple[str, str]]]:
    """Return the names that can be bound, and the others with the reason, `""` if not found."""
    valid, refused = [], []
    full = {} if room is None else room.reasons(members)
    for name in wanted:
        position = members.fleet.position.get(ClusterName(name))
        if position is None:
            refused.append((name, ""))
        elif position in members.reasons:
            refused.append((name, members.reasons[position]))
        elif position in full:
            refused.append((name, full[position]))
        else:
            valid.append(ClusterName(name))
    return valid, refused


def _bind(
    snapshot: Snapshot,
    groups: Groups,
    valid: list[ClusterName],
    existing: Mapping[str, Binding],
) -> tuple[tuple[Binding, ...], tuple[Binding, ...]]:
    """Return the bindings to create and those to take over or take back.

    A name written twice is bound twice; it cannot be taken back twice, since the first time forgets
    the state.
    """
    placed = {binding.target for binding in (*groups.scheduled, *groups.bound)}
    obsolete = {binding.target: binding for binding in groups.obsolete}
    leaving = {binding.target: binding for binding in groups.unscheduled}
    created: dict[str, Binding] = {}
    taken = set(existing)
    patched: dict[str, Binding] = {}
    for name in valid:
        decision = fixed_decision(name)
        if name in placed:
            continue
        if name in obsolete:
            binding = obsolete[name]
            state = binding.state
        elif name in leaving:
            binding = leaving[name]
            if binding.name in patched:
                raise UnexpectedBehavior(f"{name} is named twice and cannot be taken back twice")
            state = previous_state(binding)
        else:
            (fresh,) = new_bindings(snapshot, {name: decision}, taken)
            taken.add(fresh.name)
            created[fresh.name] = fresh
            continue
        patched[binding.name] = reassigned(binding, decision, snapshot.name, state=state)
    return tuple(created.values()), tuple(patched.values())
