"""Events of placements: the stages that they reach; and of the runs that roll them out."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.kubefleet.api.groups import RUNS
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.dialects.kubefleet.view.decision_record import room_waited_for
from reconciler.dialects.kubefleet.view.run_events import run_events
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.upstream_event import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    condition_of,
    said,
)

STAGES: Mapping[str, tuple[str, str]] = {
    "Scheduled": ("PlacementScheduleSuccess", "Successfully scheduled the placement"),
    "RolloutStarted": ("PlacementRolloutStarted", "Started rolling out the latest resources"),
    "Overridden": ("PlacementOverriddenSucceeded", "Placement has been successfully overridden"),
    "WorkSynchronized": (
        "PlacementWorkSynchronized",
        "Work(s) have been created or updated successfully for the selected cluster(s)",
    ),
    "Applied": ("PlacementApplied", "Resources have been applied to the selected cluster(s)"),
    "Available": ("PlacementAvailable", "Resources are available on the selected cluster(s)"),
    "DiffReported": (
        "PlacementDiffReported",
        "Configuration differences have been reported on the selected cluster(s)",
    ),
}
"""Stage to reason and message once it is true.

Source: kubefleet@e160c1c pkg/utils/condition/condition.go `EventReasonForTrue` and
`EventMessageForTrue`; the first one is in pkg/controllers/placement/controller.go.
"""
CONTROLLER = "placement-controller"
"""Source: kubefleet@e160c1c cmd/hubagent/workload/setup.go `placementControllerName`."""
COMPLETED = UpstreamEvent(
    NORMAL,
    "PlacementRolloutCompleted",
    "Placement has finished the rollout process and reached the desired status",
    CONTROLLER,
)


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield each stage that a placement reached, and a selection that is not fulfilled.

    Of a run what became of it.
    """
    if (change.key.group, change.key.kind) in RUNS:
        yield from run_events(change)
    if change.key.kind not in PLACEMENTS:
        return
    key, before, after = change.key, change.before, change.after
    for stage, (reason, message) in STAGES.items():
        kind = f"{key.kind}{stage}"
        condition = condition_of(after, kind)
        status = condition.get("status")
        if status == "True" and condition_of(before, kind).get("status") != "True":
            yield key, UpstreamEvent(NORMAL, reason, message, CONTROLLER)
        if stage == ROLLOUT_STARTED and room_waited_for(condition):
            # Unlike upstream: room is not protected there.
            told = room_waited_for(condition)
            if told != room_waited_for(condition_of(before, kind)):
                yield key, UpstreamEvent(WARNING, "PlacementWaitsForRoom", told, CONTROLLER)
        if stage == "Scheduled" and status == "False" and said(before, kind) != said(after, kind):
            why, told = text(condition, "reason"), text(condition, "message")
            yield key, UpstreamEvent(WARNING, why, told, CONTROLLER)
    if _complete(key.kind, after) and not _complete(key.kind, before):
        yield key, COMPLETED


def _complete(kind: str, placement: Body) -> bool:
    """Return whether every stage that there is has been reached, up to the last."""
    conditions = bodies(mapping(placement, "status"), "conditions")
    last = {f"{kind}Available", f"{kind}DiffReported"}
    reached = {text(c, "type") for c in conditions if c.get("status") == "True"}
    return len(reached) == len(conditions) and not reached.isdisjoint(last)
