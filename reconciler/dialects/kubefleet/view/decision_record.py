"""What a pass tells of one placement: from where to where and why, or what a person must edit."""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.kinds import (
    BINDINGS,
    PLACEMENTS,
    POLICY_SNAPSHOTS,
    subject_of,
)
from reconciler.dialects.kubefleet.api.names import GROUP, NUMBER_OF_CLUSTERS
from reconciler.dialects.kubefleet.api.placement_status import PlacementStatus
from reconciler.dialects.kubefleet.eviction.judgement import EVICTION
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement, selected_targets
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED, lacks_in
from reconciler.dialects.kubefleet.snapshots.revision import annotations_of
from reconciler.dialects.kubefleet.view.status import scheduled_condition
from reconciler.dialects.kubefleet.view.status_conditions import NO_ROOM, waits_for_room
from reconciler.errors import Misconfigured, UserError
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Fault, Manifest, World


def decision_on(
    key: ObjectKey,
    left: Mapping[ObjectKey, Body],
    converged: ConvergedPlacement,
    members: Members,
    trigger: RescheduleTrigger | None,
    *,
    known_problem: str,
    edited: bool,
    evicted_by: str = "",
) -> Decision | None:
    """Return what moved or was rebalanced, or why there are newly fewer clusters than wanted.

    Args:
        key: The placement.
        left: Its files as the pass found them.
        converged: Where it converged.
        members: All clusters.
        trigger: A rebalancer's, `None` if there is none.
        known_problem: What its status complains about so far, `""` for nothing.
        edited: Whether a person edited a decision.
        evicted_by: Name of the eviction that deleted a binding, `""` if none did.
    """
    before, after = placed(left), _as_placed(selected_targets(converged.bindings.values()))
    problem = problem_of(scheduled_condition(converged))
    lacking = lacks_in(converged.bindings.values())
    if not problem and lacking:
        problem = waits_for_room(lacking).removeprefix("; ")
    if before == after and (not problem or problem == known_problem) and trigger is None:
        return None
    return Decision(
        key=key,
        subject=subject_of(key),
        cause=_cause(left, converged, members, trigger, edited=edited, evicted_by=evicted_by),
        before=before,
        after=after,
        problem=problem,
        rejected={
            ClusterName(decision.cluster): decision.reason
            for decision in converged.snapshot.status.decided
            if not decision.selected
        },
    )


def problem_of(condition: Body) -> str:
    """Return what a Scheduled condition complains about, `""` for nothing."""
    return text(condition, "message") if condition.get("status") == "False" else ""


def _cause(
    left: Mapping[ObjectKey, Body],
    converged: ConvergedPlacement,
    members: Members,
    trigger: RescheduleTrigger | None,
    *,
    edited: bool,
    evicted_by: str,
) -> Cause:
    """Return why a placement moved; a rebalancer comes first, but for the first placement.

    The clusters are told where nothing else happened to it.
    """
    if not left:
        return Cause(CauseKind.CREATED, "" if trigger is None else trigger.by)
    if trigger is not None:
        return Cause(CauseKind.REBALANCED, trigger.by, sources=trigger.askers)
    if evicted_by:
        return Cause(CauseKind.EVICTED, f"{EVICTION} {evicted_by}")
    if edited:
        return Cause(CauseKind.EDITED)
    if differs_in_policy(left, converged):
        return Cause(CauseKind.PLACEMENT_CHANGED)
    gone = any(_is_gone(cluster, members) for cluster, _ in placed(left))
    return Cause(CauseKind.CLUSTER_GONE if gone else CauseKind.CLUSTERS_CHANGED)


def differs_in_policy(left: Mapping[ObjectKey, Body], converged: ConvergedPlacement) -> bool:
    """Return whether the policy of a placement is not the one that its files were decided by."""
    name = converged.snapshot.name
    known = next(
        (b for k, b in left.items() if k.kind in POLICY_SNAPSHOTS and k.name == name), None
    )
    return known is None or (
        _number(annotations_of(known)) != _number(converged.snapshot.annotations)
    )


def _number(annotations: Mapping[str, str]) -> str | None:
    """Return how many clusters PickN wants, as a snapshot holds it."""
    return annotations.get(NUMBER_OF_CLUSTERS)


def _is_gone(cluster: ClusterName, members: Members) -> bool:
    """Return whether a cluster has no file, or is leaving."""
    position = members.fleet.position.get(cluster)
    return position is None or members.fleet.clusters[position].deleting


def placed(left: Mapping[ObjectKey, Body]) -> Placed:
    """Return the clusters that the bindings among a placement's files keep."""
    return placed_bindings(
        decode_binding(body) for key, body in left.items() if key.kind in BINDINGS
    )


def placed_bindings(bindings: Iterable[Binding]) -> Placed:
    """Return the clusters that bindings keep."""
    return _as_placed(selected_targets(bindings))


def _as_placed(targets: tuple[str, ...]) -> Placed:
    return tuple((ClusterName(name), 0) for name in targets)


def removals(
    world: World,
    gone: Iterable[ObjectKey],
    left: Mapping[ObjectKey, Mapping[ObjectKey, Body]],
) -> Iterator[Decision]:
    """Yield the decisions on placements that are gone and had a status, given all files."""
    for key in sorted(gone):
        if key in world.outputs:
            yield record_removal(key, left.get(key, {}))


def record_removal(key: ObjectKey, left: Mapping[ObjectKey, Body]) -> Decision:
    """Return the decision on a placement that is gone."""
    return Decision(
        key=key,
        subject=subject_of(key),
        cause=Cause(CauseKind.REMOVED),
        before=placed(left),
        after=(),
        removed=True,
    )


def unsettled(manifest: Manifest, error: UserError) -> Fault:
    """Turn what stopped a placement, or a cluster, into a fault at its file."""
    message, name = error.message, subject_of(manifest.key)
    refused = isinstance(error, Misconfigured)
    expected = "fields that agree with each other, and outputs as the last pass wrote them"
    return Fault(
        path=manifest.origin.path,
        line=0,
        column=0,
        field=error.field,
        rule="placement-immutable" if refused else "kubefleet-unexpected",
        message=message if refused else f"{name} cannot be scheduled: {message}",
        expected="what it was, or a placement of another name" if refused else expected,
        subject=str(manifest.key),
    )


def known_problem(status: PlacementStatus) -> str:
    """Return what the status of a placement complains about so far."""
    conditions = status.conditions or ()
    by_type = {text(condition, "type"): condition for condition in reversed(conditions)}
    kinds = [kind for kind in PLACEMENTS if f"{kind}Scheduled" in by_type]
    found = [problem_of(by_type[f"{kind}Scheduled"]) for kind in kinds]
    found += [room_waited_for(by_type.get(f"{kind}{ROLLOUT_STARTED}", {})) for kind in kinds]
    return next(filter(None, found), "")


def room_waited_for(condition: Body) -> str:
    """Return that a placement waits for room, as its RolloutStarted says; `""` if it does not."""
    _, mark, lacking = text(condition, "message").partition(NO_ROOM)
    return f"{mark.removeprefix('; ')}{lacking}" if mark else ""


def waiting_for_room(world: World) -> Iterator[tuple[ObjectKey, str]]:
    """Yield the placements of which an update waits for room, each with a clause that says so."""
    for kind in PLACEMENTS:
        for one in world.outputs_of_kind((GROUP, kind)):
            listed = bodies(mapping(one.body, "status"), "conditions")
            for condition in listed:
                if text(condition, "type") == f"{kind}{ROLLOUT_STARTED}":
                    why = room_waited_for(condition)
                    if why:
                        yield one.key, f"is not updated: {why}"
