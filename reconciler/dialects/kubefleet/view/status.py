"""The status file of a placement: what was decided, cluster by cluster, and how far it is.

Its lists say what it selects, and what is wrong on which cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import (
    DIFFED,
    DRIFTED,
    FAILED,
    OVERRIDES,
    Binding,
    ClusterStatus,
    PlacementStatus,
    encode_placement_status,
)
from reconciler.dialects.kubefleet.api.names import (
    AVAILABLE,
    BOUND,
    DIFF_REPORTED,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    SCHEDULED,
    SCHEDULED_CONDITION,
    kinds_in,
)
from reconciler.dialects.kubefleet.api.placement import (
    PICK_FIXED,
    PICK_N,
    ROLLING_UPDATE,
    Placement,
)
from reconciler.dialects.kubefleet.api.snapshots import (
    ClusterDecision,
    SnapshotEntry,
    annotations_of,
    decode_resources,
    is_latest,
    labels_of,
)
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement
from reconciler.dialects.kubefleet.rollout.rollout import (
    APPLIED,
    HELD_FOR_ROOM,
    ROLLOUT_STARTED,
    lacks_in,
    overall_conditions,
    stages_of,
    unknown_in_cluster,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import group_index as index_of
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import subindex_of
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.identity import ClusterName
from reconciler.model.moments import stamp
from reconciler.model.records import dataclass
from reconciler.model.world import Manifest

_BLOCKED = "The rollout is being blocked by the rollout strategy"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """What the entries of all clusters share."""

    placement: Placement
    kind: str
    generation: int
    latest: str
    index: str
    stages: tuple[str, ...]
    at: str


def placement_file(
    placement: Placement,
    api_version: str,
    metadata: Body,
    generation: int,
    converged: ConvergedPlacement,
    present: PlacementStatus,
    now: datetime,
) -> Body:
    """Return the status file of a placement.

    Args:
        placement: The placement.
        api_version: As its manifest has it, v1 or v1beta1.
        metadata: Its admission record.
        generation: Its generation.
        converged: Where it converged.
        present: Its status as the last pass wrote it, empty if there is none.
        now: Moment for conditions that change.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go and controller.go
    `setPlacementStatus`.
    """
    kind = kinds_in(placement.namespace).placement
    masters = [
        body for body in converged.resources.values() if annotations_of(body).get(RESOURCE_HASH)
    ]
    latest: Body = next((body for body in masters if is_latest(body)), {})
    context = _Context(
        placement=placement,
        kind=kind,
        generation=generation,
        latest=fields.text(fields.mapping(latest, "metadata"), "name"),
        index=labels_of(latest).get(RESOURCE_INDEX, ""),
        stages=stages_of(placement.strategy.apply),
        at=stamp(now),
    )
    entries, reached = _by_cluster(context, converged, present)
    conditions = _kept(
        present.conditions, (f"{kind}Scheduled", *(f"{kind}{s}" for s in context.stages))
    )
    overridden = any(entry.overrides for entry in entries)
    lacking = lacks_in(converged.bindings.values())
    overall = overall_conditions(
        kind, context.stages, generation, reached, overridden=overridden, lacking=lacking
    )
    told = [_scheduled(context, converged), *overall]
    for condition in told:
        conditions = set_condition(conditions, condition, at=context.at)
    types = {condition.type for condition in told}
    status = PlacementStatus(
        conditions=[item for item in conditions if item.get("type") in types],
        resource_index=context.index,
        clusters=entries,
    )
    if encode_placement_status(status) != present.body:
        # A file that older rules wrote stays as it is while nothing else of it differs.
        resources = selected_resources(converged.resources.values(), context.index)
        status = status._replace(resources=resources or None)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        "status": encode_placement_status(status),
    }


def refused_file(
    manifest: Manifest,
    generation: int,
    metadata: Body,
    present: PlacementStatus,
    message: str,
    now: datetime,
) -> Body:
    """Return the status file of a placement whose selectors are refused; all else stays.

    Args:
        manifest: The placement.
        generation: Its generation.
        metadata: Its admission record.
        present: Its status as the last pass wrote it, empty if there is none.
        message: What is wrong.
        now: Moment for a condition that changes.

    Source: kubefleet@e160c1c pkg/controllers/placement/controller.go `handleUpdate`.
    """
    kind = manifest.key.kind
    text = f"The resource selectors are invalid: {message}"
    refused = Condition(f"{kind}Scheduled", "False", "InvalidResourceSelectors", text, generation)
    conditions = set_condition(present.conditions or (), refused, at=stamp(now))
    return {
        "apiVersion": str(manifest.body["apiVersion"]),
        "kind": kind,
        "metadata": metadata,
        "status": encode_placement_status(present._replace(conditions=conditions)),
    }


def scheduled_condition(converged: ConvergedPlacement) -> Body:
    """Return the Scheduled condition of the present policy, empty if nothing was scheduled."""
    conditions = converged.snapshot.status.conditions or ()
    return next((item for item in conditions if item.get("type") == SCHEDULED_CONDITION), {})


def _kept(present: Sequence[Body] | None, types: Sequence[str]) -> list[Body]:
    """Return the present conditions of these types, in this order, of each the first."""
    by_type = {fields.text(item, "type"): item for item in reversed(present or ())}
    return [by_type[kind] for kind in types if kind in by_type]


def _scheduled(context: _Context, converged: ConvergedPlacement) -> Condition:
    condition = scheduled_condition(converged)
    kind, generation = f"{context.kind}Scheduled", context.generation
    if not condition:
        text = "Scheduling has not completed"
        return Condition(kind, "Unknown", "SchedulePending", text, generation)
    status, reason = fields.text(condition, "status"), fields.text(condition, "reason")
    return Condition(kind, status, reason, fields.text(condition, "message"), generation)


def _by_cluster(
    context: _Context, converged: ConvergedPlacement, present: PlacementStatus
) -> tuple[tuple[ClusterStatus, ...], list[Mapping[str, str]]]:
    """Return an entry a cluster in the order of decisions, and the stages of the selected ones.

    Of the others only so many are listed as the placement lacks.
    """
    before = {one.cluster: one.conditions for one in present.clusters or ()}
    bindings = {
        item.target: item
        for item in sorted(converged.bindings.values(), key=lambda item: item.name)
        if item.state in (SCHEDULED, BOUND)
    }
    entries: list[ClusterStatus] = []
    reached: list[Mapping[str, str]] = []
    decisions = converged.snapshot.status.decided
    selected = [decision for decision in decisions if decision.selected]
    for decision in selected:
        binding = bindings.get(ClusterName(decision.cluster))
        conditions = list(_stages(context, binding))
        earlier = before.get(decision.cluster, ())
        entry = _entry(context, decision, earlier, [_decided(context, decision), *conditions])
        lists = applicable_overrides(binding, conditions)
        entries.append(entry._replace(problems=told_problems(binding, conditions), overrides=lists))
        reached.append({condition.type: condition.status for condition in conditions})
    rest = [decision for decision in decisions if not decision.selected]
    for decision in rest[: _lacking(context.placement, len(selected))]:
        earlier = before.get(decision.cluster, ())
        entries.append(_entry(context, decision, earlier, [_decided(context, decision)]))
    return tuple(entries), reached


def _lacking(placement: Placement, selected: int) -> int:
    """Return how many clusters a placement wanted in vain.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `calculateFailedToScheduleClusterCount`.
    """
    kind = None if placement.policy is None else placement.policy.get("placementType")
    counted = kind in (PICK_N, PICK_FIXED) and placement.wanted is not None
    return max((placement.wanted or 0) - selected, 0) if counted else 0


def _decided(context: _Context, decision: ClusterDecision) -> Condition:
    status, reason = ("True", "Scheduled") if decision.selected else ("False", "ScheduleFailed")
    return Condition("Scheduled", status, reason, decision.reason, context.generation)


def _entry(
    context: _Context,
    decision: ClusterDecision,
    before: Sequence[Body],
    told: Sequence[Condition],
) -> ClusterStatus:
    """Return the entry of one cluster; moments of the last pass stay where nothing changed."""
    types = [condition.type for condition in told]
    conditions = _kept(before, types)
    for condition in told:
        conditions = set_condition(conditions, condition, at=context.at)
    index = context.index if len(told) > 1 else None
    return ClusterStatus(decision.cluster, conditions, index)


def _stages(context: _Context, binding: Binding | None) -> Iterable[Condition]:
    """Yield how far a selected cluster is, up to the first stage that is not True.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setPerClusterPlacementStatus`.
    """
    generation = context.generation
    if binding is None:
        yield unknown_in_cluster(ROLLOUT_STARTED, generation)
        return
    external = context.placement.strategy.type != ROLLING_UPDATE
    if not external and binding.resource_snapshot != context.latest:
        if _status_of(binding, ROLLOUT_STARTED)[0] == "False":
            lacking = lacks_in([binding])
            why = f"{HELD_FOR_ROOM}{lacking[binding.target]}" if lacking else _BLOCKED
            yield Condition(ROLLOUT_STARTED, "False", "RolloutNotStartedYet", why, generation)
        else:
            yield unknown_in_cluster(ROLLOUT_STARTED, generation)
        return
    for stage in context.stages:
        status, reason, text = _status_of(binding, stage)
        if status not in ("True", "False"):
            yield unknown_in_cluster(stage, generation)
            return
        yield Condition(stage, status, reason, text, generation)
        if status == "False":
            return


def _status_of(binding: Binding, stage: str) -> tuple[str, str, str]:
    """Return status, reason and text of a binding's condition, if it is of this generation."""
    for condition in binding.conditions:
        if condition.get("type") == stage:
            current = fields.number(condition, "observedGeneration") == binding.generation
            status = fields.text(condition, "status") if current else ""
            return status, fields.text(condition, "reason"), fields.text(condition, "message")
    return "", "", ""


def told_problems(binding: Binding | None, conditions: Sequence[Condition]) -> Body:
    """Return the lists of a binding that its entry has.

    What failed and differs is told only until all is applied and available, what drifted always.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setResourcePlacementStatusBasedOnBinding`.
    """
    statuses = {condition.type: condition.status for condition in conditions}
    runs = [statuses[stage] for stage in (APPLIED, AVAILABLE) if stage in statuses]
    lists: set[str] = set()
    if "True" in runs or "False" in runs:
        lists.add(DRIFTED)
    if "False" in runs:
        lists |= {FAILED, DIFFED}
    if statuses.get(DIFF_REPORTED) == "True":
        lists.add(DIFFED)
    problems = {} if binding is None else binding.problems
    return {name: listed for name, listed in problems.items() if name in lists}


def applicable_overrides(binding: Binding | None, conditions: Sequence[Condition]) -> Body:
    """Return the overrides in force, as an entry lists them from when the rollout has started.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setResourcePlacementStatusBasedOnBinding`.
    """
    started = (ROLLOUT_STARTED, "True") in ((one.type, one.status) for one in conditions)
    overrides = binding.overrides if binding is not None and started else {}
    return {name: overrides[own] for name, own in OVERRIDES.items() if own in overrides}


def selected_resources(snapshots: Iterable[Body], index: str) -> list[Body]:
    """Return what the resource snapshots of an index hold, as a placement's status lists it.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `ResourceIdentifier`.
    """
    group = [body for body in snapshots if index_of(body) == index]
    ordered = sorted(group, key=lambda body: int(subindex_of(body) or "-1"))
    return [_identity(entry) for body in ordered for entry in decode_resources(body)]


def _identity(entry: SnapshotEntry) -> Body:
    version = fields.text(entry.body, "apiVersion").rpartition("/")[2]
    key = entry.key
    return {
        **({"group": key.group} if key.group else {}),
        "version": version,
        "kind": key.kind,
        "name": key.name,
        **({"namespace": key.namespace} if key.namespace else {}),
    }
