"""What KubeFleet answers about the files of a world: columns, events, and all that `VIEW` lists.

Events of placements are the stages that they reach; those of staged update runs are stages that
begin, ask for an approval or end, and how the run ends.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from reconciler.dialects.kubefleet.api.binding import (
    decode_binding,
    decode_placement_status,
    state_of,
    target_of,
)
from reconciler.dialects.kubefleet.api.names import (
    CLUSTER,
    MEMBER_AGENT,
    PARENT,
    PLACEMENT_GROUP,
    PLACEMENTS,
    RUNS,
    SCOPES,
    PlacementKinds,
)
from reconciler.dialects.kubefleet.api.placement import PICK_ALL, asked_by_placement, waits_for_runs
from reconciler.dialects.kubefleet.api.updates import RunStatus, StageStatus, readable_run_status
from reconciler.dialects.kubefleet.eviction import EVICTION
from reconciler.dialects.kubefleet.make_before_break import events_of_steps
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.dialects.kubefleet.scheduler.schedule import spread_wishes
from reconciler.dialects.kubefleet.updaterun.runs import (
    INITIALIZED,
    PROGRESSING,
    REQUESTED,
    STAGE_FAILED,
    STAGE_SKIPPED,
    STAGE_STARTED,
    STAGE_SUCCEEDED,
    STAGE_WAITS_AFTER,
    SUCCEEDED,
    TASK_APPROVED,
    TASK_REQUESTED,
    condition_status,
    found,
)
from reconciler.dialects.kubefleet.updaterun.runs import REQUEST_APPROVED as APPROVED
from reconciler.dialects.kubefleet.view.placed import (
    CATEGORIES,
    CORDON,
    TAINT_EFFECTS,
    carriers,
    chosen,
    clusters_in,
    is_placed,
    may_carry,
    owner_of,
    placement_of,
    report_of,
    unreachable,
)
from reconciler.dialects.kubefleet.view.record import (
    known_problem,
    room_waited_for,
    waiting_for_room,
)
from reconciler.dialects.kubefleet.view.references import (
    brought_by_placements,
    dangling_in_kubefleet,
)
from reconciler.dialects.kubefleet.view.tree import (
    DRAINING,
    approvals_of,
    copies_in,
    tree_of,
    waiting_in,
)
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.view import (
    ChangeAnswers,
    ClusterAnswers,
    OutputAnswers,
    View,
    WorldAnswers,
    WrittenAnswers,
)
from reconciler.manifests.columns import (
    FILE,
    NONE,
    Columns,
    ColumnTable,
    Row,
    age,
    condition,
    if_reported,
    label,
    or_assumed,
    printed,
    printed_age,
    spec_of,
    status_of,
    taints,
)
from reconciler.manifests.references import Known
from reconciler.model.body import Body
from reconciler.model.decision import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    condition_of,
    said,
)
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.health import ASSUMED
from reconciler.model.kinds import Kind
from reconciler.model.late import late

USAGE = ".status.resourceUsage"


def _joined(row: Row) -> str:
    """Return what the agent says, or else the condition of the cluster that upstream prints."""
    agents = [a for a in bodies(status_of(row), "agentStatus") if text(a, "type") == MEMBER_AGENT]
    conditions = [condition for agent in agents for condition in bodies(agent, "conditions")]
    statuses = (text(item, "status") for item in conditions if text(item, "type") == "Joined")
    return next(statuses, NONE)


def _type(row: Row) -> str:
    return text(mapping(spec_of(row), "policy"), "placementType") or PICK_ALL


def _available(overall: Callable[[Row], str], row: Row) -> str:
    """Return whether a placement is available, and that this is only assumed of a cluster."""
    entries = decode_placement_status(row.body).clusters or ()
    reasons = (text(one, "reason") for entry in entries for one in entry.conditions)
    condition = overall(row)
    return (
        ASSUMED
        if condition == "True" and any(ASSUMED in reason for reason in reasons)
        else condition
    )


def _reason(scheduled: Callable[[Row], str], run: str, row: Row) -> str:
    """Return why a placement is scheduled or not, and whether it is rolled out by runs only."""
    condition = scheduled(row)
    return f"{condition}; rolled out by a {run}" if waits_for_runs(row.body) else condition


_SNAPSHOT: Columns = (
    (("GEN", printed(".metadata.generation")), ("PLACEMENT", label(PARENT)), ("AGE", age)),
    (FILE,),
)
_RUN: Columns = (
    (
        ("PLACEMENT", printed(".spec.placementName")),
        ("RESOURCE-SNAPSHOT-INDEX", printed(".spec.resourceSnapshotIndex")),
        ("POLICY-SNAPSHOT-INDEX", printed(".status.policySnapshotIndexUsed")),
        ("INITIALIZED", condition("Initialized")),
        ("PROGRESSING", condition("Progressing")),
        ("SUCCEEDED", condition("Succeeded")),
        ("AGE", age),
    ),
    (
        ("STRATEGY", printed(".spec.stagedRolloutStrategyName")),
        ("REASON", condition("Progressing", "message")),
    ),
)
_STRATEGY: Columns = ((("STAGES", printed(".spec.stages[*].name")),), (FILE,))
_REQUEST: Columns = (
    (
        ("UPDATE-RUN", printed(".spec.parentStageRollout")),
        ("STAGE", printed(".spec.targetStage")),
        ("APPROVED", condition("Approved")),
        ("AGE", age),
    ),
    (("ACCEPTED", condition("ApprovalAccepted")), FILE),
)
_BINDING: Columns = (
    (
        ("CLUSTER", lambda row: target_of(row.body) or NONE),
        ("STATE", lambda row: state_of(row.body) or NONE),
        ("PLACEMENT", label(PARENT)),
        ("WORKSYNCHRONIZED", condition("WorkSynchronized")),
        ("RESOURCESAPPLIED", or_assumed("Applied")),
        ("AGE", age),
    ),
    (
        ("RESOURCEAVAILABLE", or_assumed("Available")),
        ("REASON", lambda row: decode_binding(row.body).decision.reason or NONE),
    ),
)


def _of_scope(kinds: PlacementKinds) -> Iterator[tuple[Kind, Columns]]:
    """Yield the columns of the kinds of one scope."""
    scheduled, synchronized, available = (
        f"{kinds.placement}{stage}" for stage in ("Scheduled", "WorkSynchronized", "Available")
    )
    yield (
        (PLACEMENT_GROUP, kinds.placement),
        (
            (
                ("GEN", printed(".metadata.generation")),
                ("TYPE", _type),
                ("SCHEDULED", condition(scheduled)),
                ("SCHEDULED-GEN", condition(scheduled, "observedGeneration")),
                ("AVAILABLE", partial(_available, condition(available))),
                ("AVAILABLE-GEN", condition(available, "observedGeneration")),
                ("AGE", age),
            ),
            (
                ("WORK-SYNCHRONIZED", condition(synchronized)),
                ("WORK-SYNCHRONIZED-GEN", condition(synchronized, "observedGeneration")),
                ("REASON", partial(_reason, condition(scheduled, "message"), kinds.run)),
            ),
        ),
    )
    yield (PLACEMENT_GROUP, kinds.run), _RUN
    yield (PLACEMENT_GROUP, kinds.update_strategy), _STRATEGY
    yield (PLACEMENT_GROUP, kinds.approval_request), _REQUEST
    yield (PLACEMENT_GROUP, kinds.binding), _BINDING
    yield (PLACEMENT_GROUP, kinds.policy_snapshot), _SNAPSHOT
    yield (PLACEMENT_GROUP, kinds.resource_snapshot), _SNAPSHOT


COLUMNS: ColumnTable = {
    CLUSTER: (
        (
            ("JOINED", if_reported(_joined)),
            ("AGE", age),
            (
                "MEMBER-AGENT-LAST-SEEN",
                printed_age(
                    f'.status.agentStatus[?(@.type=="{MEMBER_AGENT}")].lastReceivedHeartbeat'
                ),
            ),
            ("NODE-COUNT", printed(r".status.properties.kubernetes-fleet\.io/node-count.value")),
            ("AVAILABLE-CPU", printed(f"{USAGE}.available.cpu")),
            ("AVAILABLE-MEMORY", printed(f"{USAGE}.available.memory")),
            ("TAINTS", taints),
        ),
        (
            ("ALLOCATABLE-CPU", printed(f"{USAGE}.allocatable.cpu")),
            ("ALLOCATABLE-MEMORY", printed(f"{USAGE}.allocatable.memory")),
            FILE,
        ),
    ),
    (PLACEMENT_GROUP, EVICTION): (
        (("VALID", condition("Valid")), ("EXECUTED", condition("Executed"))),
        (
            ("PLACEMENT", printed(".spec.placementName")),
            ("CLUSTER", printed(".spec.clusterName")),
            ("REASON", condition("Executed", "message")),
        ),
    ),
    **{key: columns for kinds in SCOPES for key, columns in _of_scope(kinds)},
}
"""By kind."""


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
    yield from events_of_steps(change)
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


UNBEGUN = StageStatus("")
STOPPED = "UpdateRunStopped"

Told = tuple[str, str, str]
"""Type, reason and message of an event."""


def run_events(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield what became of each stage of a run, then of the run.

    Upstream has all of it in conditions only: the reasons are theirs. A run that was made anew
    under its name has no stages before.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/controller.go
    `SetupWithManagerForClusterStagedUpdateRun`, for the names of the controllers.
    """
    controller = f"{change.key.kind.lower()}-controller"
    before, after = _status(change.before, change.after), readable_run_status(change.after)
    for kind, reason, message in _told(before, after, change.key.name):
        yield change.key, UpstreamEvent(kind, reason, message, controller)


def _status(before: Body, after: Body) -> RunStatus:
    """Return the status of a run before, an empty one if that was another run."""
    ids = {text(mapping(one, "metadata"), "uid") for one in (before, after)}
    return readable_run_status(before if len(ids) == 1 else None)


def _told(before: RunStatus, after: RunStatus, run: str) -> Iterator[Told]:
    stages = {stage.name: stage for stage in before.stages or ()}
    for stage in after.stages or ():
        yield from _of_stage(stages.get(stage.name, UNBEGUN), stage, run)
    if after.deletion is not None and after.deletion.clusters:
        then = before.deletion or UNBEGUN
        yield from _of_stage(then, after.deletion._replace(name="of deletions"), run)
    yield from _of_run(before, after)


def _of_stage(before: StageStatus, after: StageStatus, run: str) -> Iterator[Told]:
    """Yield what became of one stage, in the order in which it does."""
    name = f"Stage {after.name}"
    asked, was_asked = _requests(after, REQUESTED), _requests(before, REQUESTED)
    approved = _requests(after, APPROVED) - _requests(before, APPROVED)
    ended = found(after.conditions, SUCCEEDED)
    over = ended.get("status") != found(before.conditions, SUCCEEDED).get("status")
    if over and ended.get("reason") == STAGE_SKIPPED[1].reason:
        yield NORMAL, STAGE_SKIPPED[1].reason, f"{name} is skipped, as it has no clusters"
        return
    if approved:
        yield NORMAL, TASK_APPROVED.reason, f"{name} is approved"
    if after.started_at and not before.started_at:
        yield NORMAL, STAGE_STARTED.reason, f"{name} begins"
    if asked - was_asked - approved:
        how = f"reconciler approve {run} {after.name}"
        yield NORMAL, TASK_REQUESTED.reason, f"{name} waits for an approval: {how}"
    elif _waits_after(after) and not _waits_after(before):
        yield NORMAL, text(found(after.conditions, PROGRESSING), "reason"), f"{name} waits"
    if over and ended.get("status") == "True":
        yield NORMAL, STAGE_SUCCEEDED[1].reason, f"{name} ends"
    if over and ended.get("status") == "False":
        yield WARNING, STAGE_FAILED, f"{name} fails: {text(ended, 'message')}"


def _of_run(before: RunStatus, after: RunStatus) -> Iterator[Told]:
    """Yield how a run ended, or that it was stopped."""
    for kind in (INITIALIZED, SUCCEEDED):
        ended = found(after.conditions, kind)
        if ended.get("status") == condition_status(before.conditions, kind):
            continue
        reason = text(ended, "reason")
        if ended.get("status") == "False":
            yield WARNING, reason, f"The run fails: {text(ended, 'message')}"
        elif ended and kind == SUCCEEDED:
            yield NORMAL, reason, "The run ends, all stages are over"
    stopped = found(after.conditions, PROGRESSING).get("reason") == STOPPED
    if stopped and found(before.conditions, PROGRESSING).get("reason") != STOPPED:
        yield NORMAL, STOPPED, "The run is stopped"


def _waits_after(stage: StageStatus) -> bool:
    """Return whether the clusters of a stage are updated, and a task keeps it from its end."""
    return found(stage.conditions, PROGRESSING).get("message") == STAGE_WAITS_AFTER.message


def _requests(stage: StageStatus, kind: str) -> frozenset[str]:
    """Return the requests of a stage for which a condition is true."""
    return frozenset(
        task.request
        for task in (*stage.before, *stage.after)
        if condition_status(task.conditions, kind) == "True"
    )


def instructed_by_kubefleet(referable: Known) -> Iterator[Instructed]:
    """Yield what placements ask."""
    for kind in sorted(PLACEMENTS):
        for manifest in referable.of_kind(PLACEMENT_GROUP, kind):
            for pointer, instruction in asked_by_placement(manifest.body):
                yield Instructed(manifest.key, pointer, instruction)


VIEW = View(
    outputs=OutputAnswers(
        is_placed=is_placed,
        owner_of=owner_of,
        clusters_in=clusters_in,
        problem_of=lambda body: known_problem(decode_placement_status(body)),
    ),
    changes=ChangeAnswers(
        events=events_of,
        is_edited=late("reconciler.dialects.kubefleet.view.files", "is_edited"),
    ),
    clusters=ClusterAnswers(
        report_of=report_of,
        cordon=CORDON,
        draining=DRAINING,
        taint_effects=TAINT_EFFECTS,
        unreachable=unreachable,
    ),
    world=WorldAnswers(
        tree=tree_of,
        chosen=chosen,
        placement_of=placement_of,
        carriers=carriers,
        may_carry=may_carry,
        spread=spread_wishes,
        copies=copies_in,
        assumed={
            **{
                (PLACEMENT_GROUP, kinds.binding): late(
                    "reconciler.dialects.kubefleet.view.files", "assumed_bindings"
                )
                for kinds in SCOPES
            },
            **{
                (PLACEMENT_GROUP, kinds.placement): late(
                    "reconciler.dialects.kubefleet.view.files", "assumed_placements"
                )
                for kinds in SCOPES
            },
        },
        assumed_beside=frozenset((PLACEMENT_GROUP, kinds.placement) for kinds in SCOPES),
        approvals=approvals_of,
        waiting=lambda world: (*waiting_in(world), *waiting_for_room(world)),
        categories=CATEGORIES,
        columns=COLUMNS,
    ),
    written=WrittenAnswers(
        references=dangling_in_kubefleet,
        brought=brought_by_placements,
        rolled_out=lambda known: ((one.object, one.by) for one in brought_by_placements(known)),
        unmakeable=late("reconciler.dialects.kubefleet.make_before_break", "unmakeable"),
        warnings=late("reconciler.dialects.kubefleet.make_before_break", "warnings_of"),
        instructed=instructed_by_kubefleet,
    ),
)
