"""Upstream's events, told by what a commit changed in our outputs.

Upstream's controllers record an event when they act; here the act is a commit, and the files
before and after say which event it was. Reasons and messages are upstream's, so that people and
their alerts find the words they know. What upstream tells in a condition only is told with the
reason of that condition.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.placed import OCM_GROUP, PLACEMENT_LABEL, WORK_GROUP, owner_of
from reconciler.audit.revisions import Commit
from reconciler.dialects.kubefleet.names import GROUP as FLEET_GROUP
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body

NORMAL, WARNING = "Normal", "Warning"
EDITED = "OutputEdited"


@dataclass(frozen=True, slots=True)
class Told:
    """What an event says: Normal or Warning, upstream's reason, upstream's message."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event.

    Attributes:
        key: The binding or placement that it is about.
        told: What it says.
        at: Moment of the pass, of a person's commit that of the commit.
        commit: The commit that did it.
    """

    key: ObjectKey
    told: Told
    at: datetime
    commit: Commit


def happened(
    key: ObjectKey, before: Body | None, after: Body | None
) -> Iterator[tuple[ObjectKey, Told]]:
    """Yield what one output's change was, each with the object that it is about, in order.

    Args:
        key: Of the output.
        before: What it held, `None` if it is new.
        after: What it holds, `None` if it is gone: then nothing is told, as upstream does.
    """
    tell = TELLERS.get((key.group, key.kind))
    if tell is not None and after is not None:
        yield from tell(key, before or {}, after)


def edited(key: ObjectKey, body: Body, commit: Commit, *, gone: bool) -> tuple[ObjectKey, Told]:
    """Return the event of a person's edit of an output; that of a part is about its placement.

    Args:
        key: Of the output.
        body: What it holds, or held if it is gone.
        commit: The person's.
        gone: Whether the file was removed.
    """
    owner = owner_of(key, body)
    did = "removed" if gone else "edited"
    did = did.capitalize() if owner is None else f"{key.kind} {key.name} {did}"
    return owner or key, Told(
        WARNING, EDITED, f"{did} by hand by {commit.author}: {commit.subject}"
    )


def _binding(key: ObjectKey, before: Body, after: Body) -> Iterator[tuple[ObjectKey, Told]]:
    """Tell of evictions, then of scheduling.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `recordScheduleResultEventForResourceBinding`
    and `targetClustersToString`, pkg/util/helper/binding.go
    `EmitClusterEvictionEventForResourceBinding`.
    """
    for cluster in _leaving(after):
        if cluster not in _leaving(before):
            message = f"Evict from cluster {cluster} succeed."
            yield key, Told(NORMAL, "EvictWorkloadFromClusterSucceed", message)
    condition = _condition(after, "Scheduled")
    scheduled = _scheduled(after)
    if condition and scheduled != _scheduled(before):
        if condition.get("status") != "True":
            yield key, Told(WARNING, "ScheduleBindingFailed", text(condition, "message"))
            return
        clusters = bodies(mapping(after, "spec"), "clusters")
        result = ", ".join(f"{text(c, 'name')}:{number(c, 'replicas')}" for c in clusters)
        message = f"{text(condition, 'message')} Result: {{{result}}}"
        yield key, Told(NORMAL, "ScheduleBindingSucceed", message)


def _leaving(binding: Body) -> tuple[str, ...]:
    """Return the clusters that a binding is being evicted from."""
    tasks = bodies(mapping(binding, "spec"), "gracefulEvictionTasks")
    return tuple(text(task, "fromCluster") for task in tasks)


def _scheduled(binding: Body) -> tuple[object, ...]:
    """Return what changes with a scheduling that is news; its moment alone is none."""
    condition = _condition(binding, "Scheduled")
    return (
        [dict(cluster) for cluster in bodies(mapping(binding, "spec"), "clusters")],
        text(mapping(binding, "spec"), "rescheduleTriggeredAt"),
        [text(condition, field) for field in ("status", "reason", "message")],
    )


def _decision(key: ObjectKey, before: Body, after: Body) -> Iterator[tuple[ObjectKey, Told]]:
    """Tell that decisions were made or changed.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `createOrUpdatePlacementDecision`. Its ScoreUpdate is not told: why has the scores.
    """
    name = text(mapping(mapping(after, "metadata"), "labels"), PLACEMENT_LABEL)
    placement = ObjectKey(OCM_GROUP, "Placement", key.namespace, name)
    where = f"with placement {name} in namespace {key.namespace}"
    if not before:
        message = f"Decision {key.name} is created {where}"
        yield placement, Told(NORMAL, "DecisionCreate", message)
    if _decided(before) != _decided(after):
        message = f"Decision {key.name} is updated {where}"
        yield placement, Told(NORMAL, "DecisionUpdate", message)


def _decided(decision: Body) -> list[str]:
    decisions = bodies(mapping(decision, "status"), "decisions")
    return [text(item, "clusterName") for item in decisions]


def _placement(key: ObjectKey, before: Body, after: Body) -> Iterator[tuple[ObjectKey, Told]]:
    """Tell what is not as a placement of OCM asks; upstream says it in conditions only."""
    for kind, bad in (("PlacementMisconfigured", "True"), ("PlacementSatisfied", "False")):
        condition = _condition(after, kind)
        if condition.get("status") == bad and _said(before, kind) != _said(after, kind):
            message = text(condition, "message")
            yield key, Told(WARNING, text(condition, "reason"), message)


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
COMPLETED = Told(
    NORMAL,
    "PlacementRolloutCompleted",
    "Placement has finished the rollout process and reached the desired status",
)
PREFIX = "ClusterResourcePlacement"


def _fleet_placement(key: ObjectKey, before: Body, after: Body) -> Iterator[tuple[ObjectKey, Told]]:
    """Tell each stage that was reached, and a selection that is not fulfilled."""
    for stage, (reason, message) in STAGES.items():
        kind = f"{PREFIX}{stage}"
        condition = _condition(after, kind)
        status = condition.get("status")
        if status == "True" and _condition(before, kind).get("status") != "True":
            yield key, Told(NORMAL, reason, message)
        if stage == "Scheduled" and status == "False" and _said(before, kind) != _said(after, kind):
            yield key, Told(WARNING, text(condition, "reason"), text(condition, "message"))
    if _complete(after) and not _complete(before):
        yield key, COMPLETED


def _complete(placement: Body) -> bool:
    """Say whether every stage that there is has been reached, up to the last."""
    conditions = bodies(mapping(placement, "status"), "conditions")
    last = {f"{PREFIX}Available", f"{PREFIX}DiffReported"}
    reached = {text(c, "type") for c in conditions if c.get("status") == "True"}
    return len(reached) == len(conditions) and not reached.isdisjoint(last)


def _condition(body: Body, kind: str) -> Body:
    """Return a condition, an empty one if there is none."""
    conditions = bodies(mapping(body, "status"), "conditions")
    return next((c for c in conditions if c.get("type") == kind), {})


def _said(body: Body, kind: str) -> tuple[str, ...]:
    """Return what a condition says."""
    condition = _condition(body, kind)
    return tuple(text(condition, field) for field in ("status", "reason", "message"))


Teller = Callable[[ObjectKey, Body, Body], Iterator[tuple[ObjectKey, Told]]]

TELLERS: Mapping[tuple[str, str], Teller] = {
    (OCM_GROUP, "Placement"): _placement,
    (OCM_GROUP, "PlacementDecision"): _decision,
    (FLEET_GROUP, "ClusterResourcePlacement"): _fleet_placement,
    (WORK_GROUP, "ClusterResourceBinding"): _binding,
    (WORK_GROUP, "ResourceBinding"): _binding,
}
"""By (group, kind) of an output."""
