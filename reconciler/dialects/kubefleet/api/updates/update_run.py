"""A staged update run: what it is asked to do, and how far it is, stage by stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.placement_status import OVERRIDES
from reconciler.dialects.kubefleet.api.updates.conditions import conditions_in, moment_in
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body

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
    """

    conditions: Sequence[Body] = ()
    apply_strategy: Body | None = None
    policy_index: str = ""
    cluster_count: int = 0
    resource_index: str = ""
    strategy: Body | None = None
    stages: tuple[StageStatus, ...] | None = None
    deletion: StageStatus | None = None


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
    told = _without_absent(
        beforeStageTaskStatus=list(map(_encode_task, stage.before)),
        afterStageTaskStatus=list(map(_encode_task, stage.after)),
        conditions=list(stage.conditions),
        startTime=stage.started_at,
        endTime=stage.ended_at,
    )
    clusters = list(map(_encode_cluster, stage.clusters))
    return {"stageName": stage.name, "clusters": clusters, **told}


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
