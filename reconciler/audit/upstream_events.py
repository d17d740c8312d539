"""Upstream's events, told by what a commit changed in our outputs.

Upstream's controllers record an event when they act; here the act is a commit, and the files
before and after say which event it was. Reasons and messages are upstream's, so that people and
their alerts find the words they know. What upstream tells in a condition only is told with the
reason of that condition.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.event_text import NORMAL, WARNING, Told, condition_of, said
from reconciler.audit.karmada_events import tell_binding
from reconciler.audit.placed import OCM_GROUP, PLACEMENT_LABEL, WORK_GROUP, owner_of
from reconciler.audit.rebalance_events import tell_rebalancer, tell_trigger
from reconciler.audit.revisions import Commit
from reconciler.dialects.kubefleet.api.names import GROUP as FLEET_GROUP
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body
from reconciler.rebalance.kinds import REBALANCER, TRIGGER

EDITED = "OutputEdited"


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
    key: ObjectKey,
    before: Body | None,
    after: Body | None,
    beside: Sequence[Body] = (),
) -> Iterator[tuple[ObjectKey, Told]]:
    """Yield what one output's change was, each with the object that it is about, in order.

    Args:
        key: Of the output.
        before: What it held, `None` if it is new.
        after: What it holds, `None` if it is gone: then nothing is told, as upstream does.
        beside: The other outputs as the same commit left them.
    """
    if after is None:
        return
    if (key.group, key.kind) in BINDINGS:
        yield from tell_binding(key, before or {}, after, beside)
    elif (tell := TELLERS.get((key.group, key.kind))) is not None:
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
        condition = condition_of(after, kind)
        if condition.get("status") == bad and said(before, kind) != said(after, kind):
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
        condition = condition_of(after, kind)
        status = condition.get("status")
        if status == "True" and condition_of(before, kind).get("status") != "True":
            yield key, Told(NORMAL, reason, message)
        if stage == "Scheduled" and status == "False" and said(before, kind) != said(after, kind):
            yield key, Told(WARNING, text(condition, "reason"), text(condition, "message"))
    if _complete(after) and not _complete(before):
        yield key, COMPLETED


def _complete(placement: Body) -> bool:
    """Say whether every stage that there is has been reached, up to the last."""
    conditions = bodies(mapping(placement, "status"), "conditions")
    last = {f"{PREFIX}Available", f"{PREFIX}DiffReported"}
    reached = {text(c, "type") for c in conditions if c.get("status") == "True"}
    return len(reached) == len(conditions) and not reached.isdisjoint(last)


Teller = Callable[[ObjectKey, Body, Body], Iterator[tuple[ObjectKey, Told]]]

TELLERS: Mapping[tuple[str, str], Teller] = {
    (OCM_GROUP, "Placement"): _placement,
    (OCM_GROUP, "PlacementDecision"): _decision,
    (FLEET_GROUP, "ClusterResourcePlacement"): _fleet_placement,
    REBALANCER: tell_rebalancer,
    TRIGGER: tell_trigger,
}
"""By (group, kind) of an output."""

BINDINGS = frozenset({(WORK_GROUP, "ClusterResourceBinding"), (WORK_GROUP, "ResourceBinding")})
"""Told by `tell_binding`, which looks at other outputs, too."""
