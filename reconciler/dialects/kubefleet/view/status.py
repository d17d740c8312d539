"""The status file of a placement: what was decided, cluster by cluster, and how far it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.defaults import ROLLING_UPDATE
from reconciler.dialects.kubefleet.api.kinds import kinds_in
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    SCHEDULED,
)
from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.api.policy import PICK_FIXED, PICK_N
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.dialects.kubefleet.rollout.work_problems import DIFFED, DRIFTED, FAILED
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import SCHEDULED_CONDITION
from reconciler.dialects.kubefleet.snapshots.revision import annotations_of, is_latest, labels_of
from reconciler.dialects.kubefleet.view.status_conditions import (
    APPLIED,
    AVAILABLE,
    DIFF_REPORTED,
    of_placement,
    stages_of,
    unknown_in_cluster,
)
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.identity import ClusterName
from reconciler.model.moments import stamp
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
    present: Body,
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
    conditions = _kept(present, (f"{kind}Scheduled", *(f"{kind}{s}" for s in context.stages)))
    told = [_scheduled(context, converged), *_overall(context, reached)]
    for condition in told:
        conditions = set_condition(conditions, condition, at=context.at)
    types = {condition.type for condition in told}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        "status": {
            "conditions": [item for item in conditions if item.get("type") in types],
            "observedResourceIndex": context.index,
            "placementStatuses": entries,
        },
    }


def refused_file(
    manifest: Manifest, generation: int, metadata: Body, present: Body, message: str, now: datetime
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
    conditions = set_condition(fields.bodies(present, "conditions"), refused, at=stamp(now))
    return {
        "apiVersion": str(manifest.body["apiVersion"]),
        "kind": kind,
        "metadata": metadata,
        "status": {**present, "conditions": conditions},
    }


def scheduled_condition(converged: ConvergedPlacement) -> Body:
    """Return the Scheduled condition of the present policy, empty if nothing was scheduled."""
    found = fields.bodies(converged.snapshot.status, "conditions")
    return next((item for item in found if item.get("type") == SCHEDULED_CONDITION), {})


def _kept(present: Body, types: Sequence[str]) -> list[Body]:
    """Return the present conditions of these types, in this order, of each the first."""
    found = fields.bodies(present, "conditions")
    by_type = {fields.text(item, "type"): item for item in reversed(found)}
    return [by_type[kind] for kind in types if kind in by_type]


def _scheduled(context: _Context, converged: ConvergedPlacement) -> Condition:
    found = scheduled_condition(converged)
    kind, generation = f"{context.kind}Scheduled", context.generation
    if not found:
        text = "Scheduling has not completed"
        return Condition(kind, "Unknown", "SchedulePending", text, generation)
    status, reason = fields.text(found, "status"), fields.text(found, "reason")
    return Condition(kind, status, reason, fields.text(found, "message"), generation)


def _overall(context: _Context, reached: Sequence[Mapping[str, str]]) -> Iterable[Condition]:
    """Yield one condition a stage as far as all clusters got; none without a cluster.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setPlacementConditions`.
    """
    for stage in context.stages if reached else ():
        statuses = [known[stage] for known in reached if stage in known]
        worst = next((s for s in ("Unknown", "False") if s in statuses), "True")
        yield of_placement(context.kind, stage, worst, statuses.count(worst), context.generation)
        if worst != "True":
            return


def _by_cluster(
    context: _Context, converged: ConvergedPlacement, present: Body
) -> tuple[list[Body], list[Mapping[str, str]]]:
    """Return an entry a cluster in the order of decisions, and the stages of the selected ones.

    Of the others only so many are listed as the placement lacks.
    """
    before = {
        fields.text(item, "clusterName"): item
        for item in fields.bodies(present, "placementStatuses")
    }
    bindings = {
        item.target: item
        for item in sorted(converged.bindings.values(), key=lambda item: item.name)
        if item.state in (SCHEDULED, BOUND)
    }
    entries: list[Body] = []
    reached: list[Mapping[str, str]] = []
    decisions = fields.bodies(converged.snapshot.status, "targetClusters")
    selected = [item for item in decisions if item.get("selected") is True]
    for decision in selected:
        name = fields.text(decision, "clusterName")
        binding = bindings.get(ClusterName(name))
        told = list(_stages(context, binding))
        scheduled = _decided(context, decision, selected=True)
        entry = _entry(context, decision, before.get(name, {}), [scheduled, *told])
        entries.append({**entry, **_problems(binding, told)})
        reached.append({condition.type: condition.status for condition in told})
    rest = [item for item in decisions if item.get("selected") is not True]
    for decision in rest[: _lacking(context.placement, len(selected))]:
        name = fields.text(decision, "clusterName")
        failed = _decided(context, decision, selected=False)
        entries.append(_entry(context, decision, before.get(name, {}), [failed]))
    return entries, reached


def _lacking(placement: Placement, selected: int) -> int:
    """Return how many clusters a placement wanted in vain.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `calculateFailedToScheduleClusterCount`.
    """
    kind = None if placement.policy is None else placement.policy.get("placementType")
    counted = kind in (PICK_N, PICK_FIXED) and placement.wanted is not None
    return max((placement.wanted or 0) - selected, 0) if counted else 0


def _decided(context: _Context, decision: Body, *, selected: bool) -> Condition:
    text = fields.text(decision, "reason")
    status, reason = ("True", "Scheduled") if selected else ("False", "ScheduleFailed")
    return Condition("Scheduled", status, reason, text, context.generation)


def _entry(context: _Context, decision: Body, before: Body, told: Sequence[Condition]) -> Body:
    """Return the entry of one cluster; moments of the last pass stay where nothing changed."""
    types = [condition.type for condition in told]
    conditions = _kept(before, types)
    for condition in told:
        conditions = set_condition(conditions, condition, at=context.at)
    entry: dict[str, object] = {"clusterName": fields.text(decision, "clusterName")}
    if len(told) > 1:
        entry["observedResourceIndex"] = context.index
    return {**entry, "conditions": conditions}


def _problems(binding: Binding | None, told: Sequence[Condition]) -> Body:
    """Return the lists of a binding that its entry has.

    What failed and differs is told only until all is applied and available, what drifted always.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setResourcePlacementStatusBasedOnBinding`.
    """
    statuses = {condition.type: condition.status for condition in told}
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
            yield Condition(ROLLOUT_STARTED, "False", "RolloutNotStartedYet", _BLOCKED, generation)
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
    for item in binding.conditions:
        if item.get("type") == stage:
            current = fields.number(item, "observedGeneration") == binding.generation
            status = fields.text(item, "status") if current else ""
            return status, fields.text(item, "reason"), fields.text(item, "message")
    return "", "", ""
