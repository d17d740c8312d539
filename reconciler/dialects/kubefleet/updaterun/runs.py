"""The runs of one placement: their files, and what a round of a run looks at and makes of it.

The files of a run are those that it names, and the approvals that people gave. A round ends with
what it waits for, and until when time alone changes nothing. Or the run goes no further, for good
or for now, with upstream's words for whose fault that is. The conditions of runs, stages, clusters
and tasks are in upstream's words, too.

Source: kubefleet@e160c1c pkg/utils/condition/reason.go, and the functions of
pkg/controllers/updaterun whose names begin with `mark` or `record`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol
from uuid import UUID, uuid5

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import PLACEMENT_GROUP, SCOPES, kinds_in, placement_key
from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.api.snapshots import SnapshotRevisions
from reconciler.dialects.kubefleet.api.updates import (
    ApprovalRequest,
    ClusterUpdate,
    RunStatus,
    StageStatus,
    TaskStatus,
    UpdateRun,
)
from reconciler.errors import UserError
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.moments import stamp
from reconciler.model.records import dataclass, field
from reconciler.model.world import Manifest, World

REQUESTS = frozenset((PLACEMENT_GROUP, kinds.approval_request) for kinds in SCOPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """One run and what belongs to it.

    Attributes:
        manifest: The run.
        own: Its status file, `None` without one.
        strategy: Spec of the strategy that it names, `None` if there is none.
        requests: The approval requests that it made, by key.
        approvals: What people say of requests of it, sorted.
        waiting: Whether it stays as it is, since something that it names cannot be read.
    """

    manifest: Manifest
    own: Body | None
    strategy: Body | None
    requests: Mapping[ObjectKey, Body]
    approvals: tuple[Manifest, ...]
    waiting: bool

    @property
    def present(self) -> dict[ObjectKey, Body]:
        """Its files, as they stand."""
        own = {} if self.own is None else {self.manifest.key: self.own}
        return {**self.requests, **own}

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All documents that it is decided from, but for those of the placement."""
        strategy = () if self.strategy is None else (self.strategy,)
        approvals = (one.body for one in self.approvals)
        return (self.manifest.body, *strategy, *approvals, *self.present.values())


@dataclass(frozen=True, slots=True)
class UpdateRuns:
    """The runs that name one placement, by key; `bodies` are all documents they depend on."""

    runs: tuple[RunFiles, ...] = ()

    @property
    def statuses(self) -> dict[ObjectKey, Body]:
        """Their files, as they stand."""
        return {key: body for one in self.runs for key, body in one.present.items()}

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All documents that they are decided from."""
        return tuple(body for one in self.runs for body in one.bodies)


NO_RUNS = UpdateRuns()


def runs_in(world: World) -> dict[ObjectKey, UpdateRuns]:
    """Return the runs of a world by the placement that they name.

    One whose status file cannot be read is left out, and stays as it is.
    """
    runs_by_key: dict[ObjectKey, list[RunFiles]] = defaultdict(list)
    for kinds in SCOPES:
        runs = [
            one
            for one in world.of_kind(PLACEMENT_GROUP, kinds.run)
            if not is_frozen(world, one.key)
        ]
        if not runs:
            continue
        kind = (PLACEMENT_GROUP, kinds.approval_request)
        requests = _by_run(world.outputs_of_kind(kind))
        approvals = _by_run(world.of_kind(*kind))
        for manifest in runs:
            spec = mapping(manifest.body, "spec")
            named = placement_key(manifest.key.namespace, text(spec, "placementName"))
            strategy = strategy_key(manifest)
            own = world.outputs.get(manifest.key)
            written = world.inputs.get(strategy)
            waiting = str(named) in world.in_doubt or str(strategy) in world.in_doubt
            files = RunFiles(
                manifest=manifest,
                own=None if own is None else own.body,
                strategy=None if written is None else mapping(written.body, "spec"),
                requests={made.key: made.body for made in requests.get(_place(manifest), ())},
                approvals=tuple(sorted(approvals.get(_place(manifest), ()), key=lambda it: it.key)),
                waiting=waiting,
            )
            runs_by_key[named].append(files)
    return {key: UpdateRuns(tuple(runs)) for key, runs in runs_by_key.items()}


def _place(run: Manifest) -> tuple[str, str]:
    return run.key.namespace, run.key.name


def strategy_key(run: Manifest) -> ObjectKey:
    """Return the key of the strategy that a run names."""
    name = text(mapping(run.body, "spec"), "stagedRolloutStrategyName")
    kind = kinds_in(run.key.namespace).update_strategy
    return ObjectKey(PLACEMENT_GROUP, kind, run.key.namespace, name)


def _by_run(requests: Iterable[Manifest]) -> dict[tuple[str, str], list[Manifest]]:
    requests_by_run: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
    for request in requests:
        name = text(mapping(request.body, "spec"), "parentStageRollout")
        requests_by_run[request.key.namespace, name].append(request)
    return requests_by_run


def stray_files(world: World) -> Iterator[ObjectKey]:
    """Yield the files of runs that are gone: their status, and the requests that they made."""
    for kinds in SCOPES:
        for own in world.outputs_of_kind((PLACEMENT_GROUP, kinds.run)):
            if own.key not in world.inputs:
                yield own.key
        for made in world.outputs_of_kind((PLACEMENT_GROUP, kinds.approval_request)):
            name = text(mapping(made.body, "spec"), "parentStageRollout")
            run = ObjectKey(PLACEMENT_GROUP, kinds.run, made.key.namespace, name)
            if run not in world.inputs:
                yield made.key


def run_uid(key: ObjectKey, created: str) -> str:
    """Return the uid of a run, by which approvals name it.

    Unlike all other uids here, it depends on when the run was first seen: one that is made anew
    under the same name is another run, and what people approved of the one before says nothing of
    it.

    Args:
        key: The run.
        created: Text of its creationTimestamp.

    Source: ours.
    """
    return str(uuid5(UUID(uid_of(key)), created))


class Waits(StrEnum):
    """What a run waits for."""

    NOTHING = "nothing"
    NEXT_ROUND = "the next round"
    CLUSTERS = "clusters"
    APPROVAL = "an approval"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How a round ended.

    Attributes:
        waits: What for.
        until: When time alone could change something, `None` if never.
        finished: Whether the run is done, or stopped.
    """

    waits: Waits
    until: datetime | None = None
    finished: bool = False


AT_REST = RoundProgress(Waits.NOTHING)
NEXT_ROUND = RoundProgress(Waits.NEXT_ROUND)
FINISHED = RoundProgress(Waits.NOTHING, finished=True)


ABORTED = "cannot continue the updateRun: "
INVALID = f"{ABORTED}failed to validate the updateRun: "
CLIENT = "failed to process the request due to a client error: "
UNEXPECTED = "unexpected behavior which cannot be handled by the controller: "


class RunAborted(UserError):
    """The run is over: it cannot be continued, whatever happens.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/controller.go `errStagedUpdatedAborted`.
    """


class RunPostponed(UserError):
    """The run cannot go on now, and tries again; what it did in this round stands."""


INITIALIZED = "Initialized"
PROGRESSING = "Progressing"
SUCCEEDED = "Succeeded"
STARTED = "Started"
REQUESTED = "ApprovalRequestCreated"
REQUEST_APPROVED = "ApprovalRequestApproved"
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
    REQUEST_APPROVED,
    "True",
    "StageTaskApprovalRequestApproved",
    "ApprovalRequest object is approved",
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


def condition_status(conditions: Iterable[Body], kind: str) -> str:
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
    def task(entry: TaskStatus) -> TaskStatus:
        return entry._replace(conditions=_renewed(entry.conditions, generation))

    def cluster(entry: ClusterUpdate) -> ClusterUpdate:
        return entry._replace(conditions=_renewed(entry.conditions, generation))

    return stage._replace(
        clusters=tuple(map(cluster, stage.clusters)),
        before=tuple(map(task, stage.before)),
        after=tuple(map(task, stage.after)),
        conditions=_renewed(stage.conditions, generation),
    )


OverridesOf = Callable[[ClusterName], Body]
"""Returns the lists of overrides of a cluster, as the spec of a binding has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What one round of a run looks at.

    Attributes:
        run: What is asked.
        generation: Of the run.
        now: Aware UTC.
        placement: The one that it names, `None` if there is none.
        policies: Policy snapshots of the placement.
        resources: Its resource snapshots, by name.
        clusters: Labels of every cluster that there is.
        strategy: Spec of the strategy that it names, `None` if there is none.
        select: Takes a snapshot of what is selected now, where there is none of it yet.
        overrides: Returns the overrides of each cluster, given the resource snapshots of an index.
        versions: Returns of which versions those of a list are as they are, as a note.
    """

    run: UpdateRun
    generation: int
    now: datetime
    placement: Placement | None
    policies: Iterable[Body]
    resources: Mapping[str, Body]
    clusters: Mapping[ClusterName, Mapping[str, str]]
    strategy: Body | None
    select: Callable[[], SnapshotRevisions]
    overrides: Callable[[list[Body]], OverridesOf]
    versions: Callable[[Body], str] = lambda _: ""

    @property
    def place(self) -> str:
        """The placement, as upstream's messages name it: after its namespace and a slash."""
        return f"{self.run.namespace}/{self.run.placement}"


@dataclass(slots=True, eq=False)
class RunDraft:
    """What a round has made so far; it is changed in place, and lives no longer than the round.

    Attributes:
        view: What it looks at.
        status: The status of the run.
        bindings: Of the placement, by name.
        requests: Approval requests, by name.
        deleted: Names of the bindings whose deletion starts.
        made: Resource snapshots that it made, by name.
        asked: Names of the approval requests that it looked at.
    """

    view: RunView
    status: RunStatus
    bindings: dict[str, Binding]
    requests: dict[str, ApprovalRequest]
    deleted: list[str] = field(default_factory=list)
    made: dict[str, Body] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def mark(self, *words: Words) -> None:
        """Set conditions of the run."""
        conditions = marked(self.status.conditions, self, *words)
        self.status = self.status._replace(conditions=conditions)

    @property
    def generation(self) -> int:
        """That of the run, which every condition of its status observes."""
        return self.view.generation

    @property
    def at(self) -> str:
        """Text of the present moment."""
        return stamp(self.view.now)

    @property
    def stages(self) -> tuple[StageStatus, ...]:
        """The stages but for the one that deletes."""
        return self.status.stages or ()

    def stage(self, index: int) -> StageStatus:
        """Return a stage; the one behind the last is that which deletes."""
        if index < len(self.stages):
            return self.stages[index]
        return self.status.deletion or StageStatus("")

    def put(self, index: int, stage: StageStatus) -> None:
        """Replace a stage."""
        if index < len(self.stages):
            stages = (*self.stages[:index], stage, *self.stages[index + 1 :])
            self.status = self.status._replace(stages=stages)
        else:
            self.status = self.status._replace(deletion=stage)
