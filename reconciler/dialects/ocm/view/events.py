"""Events of placements: decisions made and changed, and what is not as asked."""

from collections.abc import Iterator

from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.placement_decision import PLACEMENT_LABEL, decode_decision
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.upstream_event import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    condition_of,
    said,
)

CONTROLLER = "placementController"
"""Source: ocm@00f84c3 pkg/placement/controllers/manager.go `NewRecorder`."""


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield what a change of a placement or a decision was."""
    if change.key.kind == "Placement":
        yield from _placement(change.key, change.before, change.after)
    elif change.key.kind == "PlacementDecision":
        yield from _decision(change.key, change.before, change.after)


def _decision(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return the event of decisions that were made or changed.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `createOrUpdatePlacementDecision`. Its ScoreUpdate is not told: why has the scores.
    """
    name = text(mapping(mapping(after, "metadata"), "labels"), PLACEMENT_LABEL)
    placement = ObjectKey(GROUP, "Placement", key.namespace, name)
    where = f"with placement {name} in namespace {key.namespace}"
    if not before:
        message = f"Decision {key.name} is created {where}"
        yield placement, UpstreamEvent(NORMAL, "DecisionCreate", message, CONTROLLER)
    if decode_decision(before).clusters != decode_decision(after).clusters:
        message = f"Decision {key.name} is updated {where}"
        yield placement, UpstreamEvent(NORMAL, "DecisionUpdate", message, CONTROLLER)


def _placement(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return what is not as a placement asks; upstream says it in conditions only."""
    for kind, bad in (("PlacementMisconfigured", "True"), ("PlacementSatisfied", "False")):
        condition = condition_of(after, kind)
        if condition.get("status") == bad and said(before, kind) != said(after, kind):
            message = text(condition, "message")
            yield key, UpstreamEvent(WARNING, text(condition, "reason"), message, CONTROLLER)
