"""The conditions of runs, stages, clusters and tasks, in upstream's words.

Source: kubefleet@e160c1c pkg/utils/condition/reason.go, and the functions of
pkg/controllers/updaterun whose names begin with `mark` or `record`.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from reconciler.dialects.kubefleet.api.updates.update_run import (
    ClusterUpdate,
    RunStatus,
    StageStatus,
    TaskStatus,
)
from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition

INITIALIZED = "Initialized"
PROGRESSING = "Progressing"
SUCCEEDED = "Succeeded"
STARTED = "Started"
REQUESTED = "ApprovalRequestCreated"
APPROVED = "ApprovalRequestApproved"
WAITING, STUCK = "UpdateRunWaiting", "UpdateRunStuck"
STUCK_SHOWN = 3
STAGE_FAILED = "StageUpdatingFailed"
RUN_FAILED = "UpdateRunFailed"


class Words(NamedTuple):
    """A condition but for its generation."""

    type: str
    status: str
    reason: str
    message: str


class MarkedAt(Protocol):
    """When conditions are set: the text of it, and the generation that they observe."""

    @property
    def at(self) -> str:
        """Text of the moment."""

    @property
    def generation(self) -> int:
        """Generation of the run."""


RUN_INITIALIZED = Words(
    INITIALIZED,
    "True",
    "UpdateRunInitializedSuccessfully",
    "The UpdateRun initialized successfully",
)
RUN_PROGRESSING = Words(
    PROGRESSING, "True", "UpdateRunProgressing", "The update run is making progress"
)
RUN_STOPPING = Words(
    PROGRESSING,
    "Unknown",
    "UpdateRunStopping",
    "The update run is the process of stopping, waiting for all the updating/deleting clusters to "
    "finish updating before completing the stop process",
)
RUN_STOPPED = Words(PROGRESSING, "False", "UpdateRunStopped", "The update run has been stopped")
RUN_SUCCEEDED = (
    Words(PROGRESSING, "False", "UpdateRunSucceeded", "All stages are completed"),
    Words(SUCCEEDED, "True", "UpdateRunSucceeded", "All stages are completed successfully"),
)
STAGE_STARTED = Words(
    PROGRESSING, "True", "StageUpdatingStarted", "Clusters in the stage started updating"
)
STAGE_WAITS_BEFORE = Words(
    PROGRESSING,
    "False",
    "StageUpdatingWaiting",
    "Not all before-stage tasks are completed, waiting for approval",
)
STAGE_WAITS_AFTER = Words(
    PROGRESSING,
    "False",
    "StageUpdatingWaiting",
    "All clusters in the stage are updated, waiting for after-stage tasks to complete",
)
STAGE_STOPPING = Words(
    PROGRESSING,
    "Unknown",
    "StageUpdatingStopping",
    "Waiting for all the updating clusters to finish updating before completing the stop process",
)
STAGE_STOPPED = Words(
    PROGRESSING,
    "False",
    "StageUpdatingStopped",
    "All the updating clusters have finished updating, the stage is now stopped, waiting to be "
    "resumed",
)
STAGE_SUCCEEDED = (
    Words(
        PROGRESSING,
        "False",
        "StageUpdatingSucceeded",
        "All clusters in the stage are updated and after-stage tasks are completed",
    ),
    Words(SUCCEEDED, "True", "StageUpdatingSucceeded", "Stage update completed successfully"),
)
_SKIPPED = ("StageUpdatingSkippedNoClusters", "Stage skipped because it has no clusters")
STAGE_SKIPPED = (Words(PROGRESSING, "False", *_SKIPPED), Words(SUCCEEDED, "True", *_SKIPPED))
CLUSTER_STARTED = Words(STARTED, "True", "ClusterUpdatingStarted", "Cluster update started")
CLUSTER_SUCCEEDED = Words(
    SUCCEEDED, "True", "ClusterUpdatingSucceeded", "Cluster update completed successfully"
)
TASK_REQUESTED = Words(
    REQUESTED, "True", "StageTaskApprovalRequestCreated", "ApprovalRequest object is created"
)
TASK_APPROVED = Words(
    APPROVED, "True", "StageTaskApprovalRequestApproved", "ApprovalRequest object is approved"
)
TASK_ELAPSED = Words(
    "WaitTimeElapsed", "True", "AfterStageTaskWaitTimeElapsed", "Wait time elapsed"
)
REQUEST_ACCEPTED = Words(
    "ApprovalAccepted",
    "True",
    "ApprovalRequestApprovalAccepted",
    "The approval request has been approved and cannot be reverted",
)


def run_not_initialized(message: str) -> Words:
    """Return that a run could not be initialized."""
    return Words(INITIALIZED, "False", "UpdateRunInitializedFailed", message)


def run_failed(message: str) -> tuple[Words, Words]:
    """Return that a run failed."""
    text = "The stages are aborted due to a non-recoverable error"
    return (
        Words(PROGRESSING, "False", RUN_FAILED, text),
        Words(SUCCEEDED, "False", RUN_FAILED, message),
    )


def run_waits(place: str, stage: str) -> Words:
    """Return that a run waits for tasks `before-stage` or `after-stage`."""
    text = f"The updateRun is waiting for {place} tasks in stage {stage} to complete"
    return Words(PROGRESSING, "False", WAITING, text)


def run_stuck(clusters: Sequence[str], stage: str) -> Words:
    """Return that a run waits for clusters that have taken too long; the first of them are named.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `markUpdateRunStuck`.
    """
    shown = ", ".join(clusters[:STUCK_SHOWN]) + "..." * (len(clusters) > STUCK_SHOWN)
    text = (
        f"The updateRun is stuck waiting for {shown} cluster(s) in stage {stage} to finish "
        "updating, please check placement status for potential errors"
    )
    return Words(PROGRESSING, "False", STUCK, text)


def stage_failed(message: str) -> tuple[Words, Words]:
    """Return that a stage failed."""
    text = "Stage update aborted due to a non-recoverable error"
    return (
        Words(PROGRESSING, "False", STAGE_FAILED, text),
        Words(SUCCEEDED, "False", STAGE_FAILED, message),
    )


def cluster_failed(message: str) -> Words:
    """Return that the update of a cluster failed."""
    return Words(SUCCEEDED, "False", "ClusterUpdatingFailed", message)


def marked(conditions: Sequence[Body], when: MarkedAt, *told: Words) -> tuple[Body, ...]:
    """Return conditions with some of them set."""
    for words in told:
        conditions = set_condition(conditions, Condition(*words, when.generation), at=when.at)
    return tuple(conditions)


def found(conditions: Iterable[Body], kind: str) -> Body:
    """Return the condition of a type, empty without one."""
    return next((item for item in conditions if item.get("type") == kind), {})


def status_of(conditions: Iterable[Body], kind: str) -> str:
    """Return the status of the condition of a type, `""` without one.

    All of them observe the present generation, see `renewed`.
    """
    return str(found(conditions, kind).get("status", ""))


def renewed(status: RunStatus, generation: int) -> RunStatus:
    """Return a status all of whose conditions observe a generation.

    So a change of the spec starts nothing anew, and what has failed stays failed.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/controller.go
    `updateAllStatusConditionsGeneration`.
    """
    stages = status.stages
    return status._replace(
        conditions=_renewed(status.conditions, generation),
        stages=None if stages is None else tuple(_stage(one, generation) for one in stages),
        deletion=None if status.deletion is None else _stage(status.deletion, generation),
    )


def _renewed(conditions: Iterable[Body], generation: int) -> tuple[Body, ...]:
    return tuple({**one, "observedGeneration": generation} for one in conditions)


def _stage(stage: StageStatus, generation: int) -> StageStatus:
    def task(one: TaskStatus) -> TaskStatus:
        return one._replace(conditions=_renewed(one.conditions, generation))

    def cluster(one: ClusterUpdate) -> ClusterUpdate:
        return one._replace(conditions=_renewed(one.conditions, generation))

    return stage._replace(
        clusters=tuple(map(cluster, stage.clusters)),
        before=tuple(map(task, stage.before)),
        after=tuple(map(task, stage.after)),
        conditions=_renewed(stage.conditions, generation),
    )
