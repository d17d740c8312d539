"""The status file of a placement: what was decided, cluster by cluster, and how far it is."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.dialects.kubefleet.binding import Binding
from reconciler.dialects.kubefleet.names import (
    API_VERSION,
    BOUND,
    PLACEMENT,
    RESOURCE_INDEX,
    SCHEDULED,
)
from reconciler.dialects.kubefleet.revision import is_latest, labels_of
from reconciler.dialects.kubefleet.settle import Settled
from reconciler.dialects.kubefleet.snapshot import SCHEDULED_CONDITION
from reconciler.model import fields
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.moments import stamp
from reconciler.model.world import Body

PREFIX = "ClusterResourcePlacement"
STAGES = ("RolloutStarted", "Applied", "Available")


def placement_file(
    metadata: Body, generation: int, settled: Settled, present: Body, now: datetime
) -> Body:
    """Return the status file of a placement.

    Args:
        metadata: Its admission record.
        generation: Its generation.
        settled: Where it came to rest.
        present: Its status as the last pass wrote it, empty if there is none.
        now: Moment for conditions that change.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setPlacementStatus`; the texts of the stages are ours.
    """
    staying = sorted(
        (item for item in settled.bindings.values() if item.state in (SCHEDULED, BOUND)),
        key=lambda item: (item.target, item.name),
    )
    conditions = list(fields.bodies(present, "conditions"))
    for condition in (_scheduled(settled, generation), *_stages(staying, generation)):
        conditions = set_condition(conditions, condition, at=stamp(now))
    status: dict[str, object] = {
        "conditions": conditions,
        "observedResourceIndex": _index(settled.resources.values()),
        "placementStatuses": _by_cluster(settled, staying, generation, present, now),
    }
    return {
        "apiVersion": API_VERSION,
        "kind": PLACEMENT,
        "metadata": metadata,
        "status": status,
    }


def scheduled_condition(settled: Settled) -> Body:
    """Return the Scheduled condition of the present policy, empty if nothing was scheduled."""
    found = fields.bodies(settled.snapshot.status, "conditions")
    return next((item for item in found if item.get("type") == SCHEDULED_CONDITION), {})


def _scheduled(settled: Settled, generation: int) -> Condition:
    found = scheduled_condition(settled)
    kind = f"{PREFIX}Scheduled"
    if not found:
        text = "Scheduling has not completed"
        return Condition(kind, "Unknown", "SchedulePending", text, generation)
    status, reason = fields.text(found, "status"), fields.text(found, "reason")
    return Condition(kind, status, reason, fields.text(found, "message"), generation)


def _stages(staying: Sequence[Binding], generation: int) -> Iterable[Condition]:
    """Yield one condition a stage: True if every selected cluster has passed it."""
    for stage in STAGES:
        missing = [item.target for item in staying if not _passed(item, stage)]
        if missing:
            shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            text = f"{len(missing)} of {len(staying)} cluster(s) not yet: {shown}"
            yield Condition(f"{PREFIX}{stage}", "False", f"{stage}Pending", text, generation)
        else:
            text = f"{len(staying)} cluster(s)"
            yield Condition(f"{PREFIX}{stage}", "True", f"{stage}Everywhere", text, generation)


def _passed(binding: Binding, stage: str) -> bool:
    return any(
        item.get("type") == stage
        and item.get("status") == "True"
        and item.get("observedGeneration") == binding.generation
        for item in binding.conditions
    )


def _index(resources: Iterable[Body]) -> str:
    return next((labels_of(body)[RESOURCE_INDEX] for body in resources if is_latest(body)), "")


def _by_cluster(
    settled: Settled, staying: Sequence[Binding], generation: int, present: Body, now: datetime
) -> list[Body]:
    """Return the selected clusters by name, then those turned away in the order of decisions."""
    before = {
        fields.text(item, "clusterName"): fields.bodies(item, "conditions")
        for item in fields.bodies(present, "placementStatuses")
    }
    entries = []
    for binding in staying:
        reason = fields.text(binding.decision, "reason")
        scheduled = Condition("Scheduled", "True", "Scheduled", reason, generation)
        known = _only(before.get(binding.target, ()), "Scheduled")
        conditions = set_condition(known, scheduled, at=stamp(now))
        conditions += [item for item in binding.conditions if item.get("type") in STAGES]
        entries.append({"clusterName": binding.target, "conditions": conditions})
    selected = {binding.target for binding in staying}
    for decision in fields.bodies(settled.snapshot.status, "targetClusters"):
        name = fields.text(decision, "clusterName")
        if decision.get("selected") is True or name in selected:
            continue
        text = fields.text(decision, "reason")
        failed = Condition("Scheduled", "False", "ScheduleFailed", text, generation)
        known = _only(before.get(name, ()), "Scheduled")
        conditions = set_condition(known, failed, at=stamp(now))
        entries.append({"clusterName": name, "conditions": conditions})
    return list[Body](entries)


def _only(conditions: Iterable[Mapping[str, object]], kind: str) -> list[Body]:
    return [item for item in conditions if item.get("type") == kind]
