"""Staged update runs, their strategies and their approval requests as manifests and status files.

A strategy has the stages in which a run updates clusters, and what it waits for. A run records how
far it is, stage by stage. A request asks a person to let a stage begin, or end.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.binding import OVERRIDES
from reconciler.dialects.kubefleet.api.names import VERSIONS
from reconciler.errors import UserError
from reconciler.manifests.durations import format_duration
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.labels import labels_of
from reconciler.model.moments import is_moment
from reconciler.model.records import dataclass
from reconciler.staging.strategy import APPROVAL, TASKS, decode_task

INITIALIZE, RUN, STOP = "Initialize", "Run", "Stop"
DELETE_STAGE = "kubernetes-fleet.io/deleteStage"
"""The stage that takes clusters away; every run has it, after all others."""

NOTHING: Body = {}
LISTS = tuple(OVERRIDES.values())
"""The lists of overrides that an entry has, as the spec of a binding has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRun:
    """What a run is asked to do.

    Attributes:
        namespace: Where it stands, with placement and strategy; `""` for a ClusterStagedUpdateRun.
        name: Name.
        placement: Name of the placement that it rolls out.
        strategy: Name of the strategy that has the stages.
        index: Index of the resource snapshot, `""` for what is selected at the beginning.
        state: Initialize, Run, Stop, or whatever was written.
    """

    namespace: str
    name: str
    placement: str
    strategy: str
    index: str
    state: str


class TaskStatus(NamedTuple):
    """How far a task of a stage is; `request` names its ApprovalRequest, `""` for a wait."""

    type: str
    request: str = ""
    conditions: Sequence[Body] = ()


class ClusterUpdate(NamedTuple):
    """How far a cluster of a stage is, and the overrides that it was planned with."""

    cluster: str
    overrides: Body = NOTHING
    conditions: Sequence[Body] = ()


class StageStatus(NamedTuple):
    """How far a stage is.

    Attributes:
        name: Name.
        clusters: In the order in which they are updated.
        before: The tasks before it.
        after: The tasks after it.
        conditions: As written.
        started_at: Text of the moment at which it began, `""` if it did not.
        ended_at: Text of the moment at which it ended, `""` if it did not.
    """

    name: str
    clusters: tuple[ClusterUpdate, ...] = ()
    before: tuple[TaskStatus, ...] = ()
    after: tuple[TaskStatus, ...] = ()
    conditions: Sequence[Body] = ()
    started_at: str = ""
    ended_at: str = ""


class RunStatus(NamedTuple):
    """The status of a run; `None` and `""` stand for an absent field.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `UpdateRunStatus`.

    Attributes:
        conditions: As written.
        apply_strategy: How resources are applied, as the placement said at the beginning.
        policy_index: Of the policy snapshot that chose the clusters.
        cluster_count: How many clusters it chose, 0 for an absent field.
        resource_index: Of the resource snapshot that is rolled out.
        strategy: Spec of the strategy at the beginning.
        stages: In the order of the strategy.
        deletion: The stage that takes clusters away.
        overrides: Of which versions the overrides are that its clusters list, as a note in an
            annotation; `""` without any.
    """

    conditions: Sequence[Body] = ()
    apply_strategy: Body | None = None
    policy_index: str = ""
    cluster_count: int = 0
    resource_index: str = ""
    strategy: Body | None = None
    stages: tuple[StageStatus, ...] | None = None
    deletion: StageStatus | None = None
    overrides: str = ""


def decode_run(body: Body, namespace: str = "") -> UpdateRun:
    """Return what a run is asked to do.

    Args:
        body: The manifest, its defaults applied; the namespace need not stand in it.
        namespace: Its namespace.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `UpdateRunSpec`.
    """
    spec = fields.mapping(body, "spec")
    return UpdateRun(
        namespace=namespace,
        name=fields.text(fields.mapping(body, "metadata"), "name"),
        placement=fields.text(spec, "placementName"),
        strategy=fields.text(spec, "stagedRolloutStrategyName"),
        index=fields.text(spec, "resourceSnapshotIndex"),
        state=fields.text(spec, "state"),
    )


def decode_run_status(manifest: Body) -> RunStatus:
    """Return the status of a run from its manifest or status file.

    Raises:
        UserError: A field has the wrong type.
    """
    status = fields.mapping(manifest, "status")
    stages = fields.bodies_or_none(status, "stagesStatus")
    deletion = fields.mapping_or_none(status, "deletionStageStatus")
    return RunStatus(
        conditions=conditions_in(status),
        apply_strategy=fields.mapping_or_none(status, "appliedStrategy"),
        policy_index=fields.text(status, "policySnapshotIndexUsed"),
        cluster_count=fields.number(status, "policyObservedClusterCount"),
        resource_index=fields.text(status, "resourceSnapshotIndexUsed"),
        strategy=fields.mapping_or_none(status, "stagedUpdateStrategySnapshot"),
        stages=None if stages is None else tuple(map(_decode_stage, stages)),
        deletion=None if deletion is None else _decode_stage(deletion),
        overrides=str(fields.at(manifest, "metadata", "annotations").get(VERSIONS, "")),
    )


def readable_run_status(manifest: Body | None) -> RunStatus:
    """Return the status of a run from its status file, an empty one if that cannot be read.

    So a run whose status a person has spoilt begins anew, and nothing else waits for it.

    Args:
        manifest: The status file, `None` without one.
    """
    try:
        return decode_run_status(manifest or {})
    except UserError:
        return RunStatus()


def encode_run_status(status: RunStatus) -> Body:
    """Return the status of a run as it is written."""
    return _without_absent(
        conditions=list(status.conditions),
        appliedStrategy=status.apply_strategy,
        policySnapshotIndexUsed=status.policy_index,
        policyObservedClusterCount=status.cluster_count,
        resourceSnapshotIndexUsed=status.resource_index,
        stagedUpdateStrategySnapshot=status.strategy,
        stagesStatus=list(map(_encode_stage, status.stages or ())),
        deletionStageStatus=None if status.deletion is None else _encode_stage(status.deletion),
    )


def _decode_stage(body: Body) -> StageStatus:
    return StageStatus(
        name=fields.text(body, "stageName"),
        clusters=tuple(map(_decode_cluster, fields.bodies(body, "clusters"))),
        before=tuple(map(_decode_task, fields.bodies(body, "beforeStageTaskStatus"))),
        after=tuple(map(_decode_task, fields.bodies(body, "afterStageTaskStatus"))),
        conditions=conditions_in(body),
        started_at=moment_in(body, "startTime"),
        ended_at=moment_in(body, "endTime"),
    )


def _encode_stage(stage: StageStatus) -> Body:
    encoded = _without_absent(
        beforeStageTaskStatus=list(map(_encode_task, stage.before)),
        afterStageTaskStatus=list(map(_encode_task, stage.after)),
        conditions=list(stage.conditions),
        startTime=stage.started_at,
        endTime=stage.ended_at,
    )
    clusters = list(map(_encode_cluster, stage.clusters))
    return {"stageName": stage.name, "clusters": clusters, **encoded}


def _decode_cluster(body: Body) -> ClusterUpdate:
    return ClusterUpdate(
        cluster=fields.text(body, "clusterName"),
        overrides={name: body[name] for name in LISTS if name in body},
        conditions=conditions_in(body),
    )


def _encode_cluster(update: ClusterUpdate) -> Body:
    conditions = _without_absent(conditions=list(update.conditions))
    return {"clusterName": update.cluster, **update.overrides, **conditions}


def _decode_task(body: Body) -> TaskStatus:
    return TaskStatus(
        type=fields.text(body, "type"),
        request=fields.text(body, "approvalRequestName"),
        conditions=conditions_in(body),
    )


def _encode_task(task: TaskStatus) -> Body:
    return _without_absent(
        type=task.type, approvalRequestName=task.request, conditions=list(task.conditions)
    )


def _without_absent(**given: object) -> dict[str, object]:
    """Return fields without those that Go leaves out: null, zero, and what is empty but a map."""
    return {name: value for name, value in given.items() if value or isinstance(value, dict)}


STAGE_LABEL = "kubernetes-fleet.io/targetUpdatingStage"
RUN_LABEL = "kubernetes-fleet.io/targetUpdateRun"
TASK_LABEL = "kubernetes-fleet.io/taskType"
LATEST_LABEL = "kubernetes-fleet.io/isLatestUpdateRunApproval"
BEFORE, AFTER = "beforeStage", "afterStage"

APPROVED_CONDITION = "Approved"
ACCEPTED = "ApprovalAccepted"


class ApprovalRequest(NamedTuple):
    """An approval request.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `ApprovalRequestSpec`.

    Attributes:
        name: Name.
        run: Name of the run.
        stage: Name of its stage.
        labels: Labels.
        generation: Counts the changes of its spec.
        conditions: As written.
    """

    name: str
    run: str
    stage: str
    labels: Mapping[str, str] = {}
    generation: int = 1
    conditions: Sequence[Body] = ()

    def holds(self, kind: str) -> bool:
        """Return whether a condition is True of the present generation."""
        return any(
            item.get("type") == kind
            and item.get("status") == "True"
            and item.get("observedGeneration") == self.generation
            for item in self.conditions
        )


def decode_request(body: Body) -> ApprovalRequest:
    """Return an approval request from its manifest.

    Raises:
        UserError: A field has the wrong type.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    return ApprovalRequest(
        name=fields.text(metadata, "name"),
        run=fields.text(spec, "parentStageRollout"),
        stage=fields.text(spec, "targetStage"),
        labels=dict(labels_of(body)),
        generation=fields.number(metadata, "generation"),
        conditions=conditions_in(fields.mapping(body, "status")),
    )


def readable_request(manifest: Body) -> ApprovalRequest | None:
    """Return a request from its status file, `None` if that cannot be read: it is made anew."""
    try:
        return decode_request(manifest)
    except UserError:
        return None


def encode_spec(request: ApprovalRequest) -> Body:
    """Return the spec of an approval request."""
    return {"parentStageRollout": request.run, "targetStage": request.stage}


def new_request(name: str, run: str, stage: str, task: str) -> ApprovalRequest:
    """Return the request that a run makes for a task before or after a stage.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `buildApprovalRequestObject`.
    """
    labels = {STAGE_LABEL: stage, RUN_LABEL: run, TASK_LABEL: task, LATEST_LABEL: "true"}
    return ApprovalRequest(name=name, run=run, stage=stage, labels=labels)


DEFAULT_CONCURRENCY = 1


def with_defaults(spec: Body) -> Body:
    """Return the spec of a strategy as an API server would fill it in.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `StageConfig`, its
    defaults.
    """
    stages = [
        stage
        if stage.get("maxConcurrency") is not None
        else {**stage, "maxConcurrency": DEFAULT_CONCURRENCY}
        for stage in fields.bodies(spec, "stages")
    ]
    return {**spec, "stages": stages}


def recorded_strategy(spec: Body) -> Body:
    """Return the spec of a strategy as a run records it: durations in one form, none of approvals.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `removeWaitTimeFromUpdateRunStatus`.
    """
    return {**spec, "stages": [_recorded_stage(one) for one in fields.bodies(spec, "stages")]}


def _recorded_stage(stage: Body) -> Body:
    tasks = {name: [_recorded_task(task) for task in fields.bodies(stage, name)] for name in TASKS}
    rest = {key: value for key, value in stage.items() if key not in TASKS and value is not None}
    return {**rest, **{name: listed for name, listed in tasks.items() if listed}}


def _recorded_task(task: Body) -> Mapping[str, object]:
    decoded = decode_task(task)
    if decoded.type == APPROVAL or decoded.wait is None:
        return {"type": decoded.type}
    return {"type": decoded.type, "waitTime": format_duration(decoded.wait)}


TEXTS = ("type", "status", "reason", "message")


def conditions_in(body: Body) -> tuple[Body, ...]:
    """Return the conditions below a body.

    Raises:
        UserError: One holds what no condition holds; a person may edit the file.
    """
    conditions = fields.bodies(body, "conditions")
    for condition in conditions:
        for name in TEXTS:
            fields.text(condition, name)
        fields.number(condition, "observedGeneration")
        if not moment_in(condition, "lastTransitionTime"):
            raise UserError("must say since when it is so", field="lastTransitionTime")
    return conditions


def moment_in(body: Body, field: str) -> str:
    """Return a moment as it is written, `""` if there is none.

    Raises:
        UserError: It is no moment.
    """
    written = fields.text(body, field)
    if written and not is_moment(written):
        raise UserError("must be a moment such as 2026-01-02T15:04:05Z", field=field)
    return written
