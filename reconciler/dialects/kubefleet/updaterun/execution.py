"""A round of a run that goes on, or is asked to stop: one stage, a few of its clusters.

A stage waits for its tasks before and after it: that a person approves, that time passes. Between
them the binding of each cluster is brought to what the run rolls out, and watched then. The last
stage deletes all bindings of the clusters to leave at once. When a run is asked to stop, what was
started may finish, and nothing more is started.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    VERSIONS,
    as_integer,
)
from reconciler.dialects.kubefleet.api.updates import (
    ACCEPTED,
    AFTER,
    BEFORE,
    RUN,
    ClusterUpdate,
    StageStatus,
    TaskStatus,
    new_request,
)
from reconciler.dialects.kubefleet.api.updates import APPROVED_CONDITION as APPROVED
from reconciler.dialects.kubefleet.rollout.availability import ROLLED_OUT_AT
from reconciler.dialects.kubefleet.rollout.rollout import (
    ROLLOUT_STARTED,
    has_failed,
    has_started,
    is_available,
    reported_difference,
)
from reconciler.dialects.kubefleet.snapshots.overrides import OverrideVersions
from reconciler.dialects.kubefleet.updaterun.initialization import ChosenClusters, concurrency_of
from reconciler.dialects.kubefleet.updaterun.runs import (
    ABORTED,
    CLIENT,
    CLUSTER_STARTED,
    CLUSTER_SUCCEEDED,
    FINISHED,
    NEXT_ROUND,
    PROGRESSING,
    REQUEST_ACCEPTED,
    RUN_PROGRESSING,
    RUN_STOPPING,
    STAGE_SKIPPED,
    STAGE_STARTED,
    STAGE_STOPPED,
    STAGE_STOPPING,
    STAGE_SUCCEEDED,
    STAGE_WAITS_AFTER,
    STAGE_WAITS_BEFORE,
    STARTED,
    STUCK,
    SUCCEEDED,
    TASK_APPROVED,
    TASK_ELAPSED,
    TASK_REQUESTED,
    UNEXPECTED,
    WAITING,
    RoundProgress,
    RunAborted,
    RunDraft,
    RunPostponed,
    Waits,
    Words,
    cluster_failed,
    found,
    marked,
    run_stuck,
    run_waits,
)
from reconciler.dialects.kubefleet.updaterun.runs import REQUEST_APPROVED as TASK_IS_APPROVED
from reconciler.dialects.kubefleet.updaterun.runs import condition_status as status_of
from reconciler.errors import UserError
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName
from reconciler.model.moments import add, earliest, parse_moment, second_after, span
from reconciler.model.records import dataclass, field
from reconciler.staging.strategy import APPROVAL, TIMED_WAIT, StageTask, decode_stages


@dataclass(slots=True, eq=False)
class StageRound:
    """What one round saw of the clusters of a stage; changed in place while it looks.

    Attributes:
        errors: Why clusters go no further, in order.
        stuck: Those that have taken too long.
        until: When another one will have, `None` if never.
    """

    errors: list[UserError] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    until: datetime | None = None

    def wait_for(self, draft: RunDraft, update: ClusterUpdate) -> None:
        """Note that a cluster is not done."""
        patience = patience_with(draft, update)
        if patience.is_over:
            self.stuck.append(update.cluster)
        self.until = earliest(self.until, patience.until)

    def conclude(self, draft: RunDraft, stage: str) -> None:
        """Say whether the run is stuck, and raise what went wrong.

        Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `aggregateUpdateRunStatus`.

        Raises:
            RunAborted: A cluster cannot go on at all.
            RunPostponed: A cluster cannot go on now.
        """
        if self.stuck:
            draft.mark(run_stuck(self.stuck, stage))
        elif draft.view.run.state == RUN:
            draft.mark(RUN_PROGRESSING)
        if not self.errors:
            return
        texts = list(dict.fromkeys(one.message for one in self.errors))
        message = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        aborted = any(isinstance(one, RunAborted) for one in self.errors)
        raise RunAborted(message) if aborted else RunPostponed(message)


def execute(draft: RunDraft, index: int, chosen: ChosenClusters) -> RoundProgress:
    """Go on with a stage; with the one that deletes if the index is their number.

    Raises:
        RunAborted: The stage cannot go on.
        RunPostponed: A cluster of it failed; what was done for the others stands.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `execute`.
    """
    reason = found(draft.status.conditions, PROGRESSING).get("reason")
    if reason not in (WAITING, STUCK):
        draft.mark(RUN_PROGRESSING)
    if index == len(draft.stages):
        return execute_deletion(draft, chosen.removed)
    stage = draft.stages[index]
    if not stage.clusters:
        skipped = stage._replace(
            conditions=marked(stage.conditions, draft, *STAGE_SKIPPED),
            started_at=stage.started_at or draft.at,
            ended_at=stage.ended_at or draft.at,
        )
        draft.put(index, skipped)
        return NEXT_ROUND
    if not is_begun(draft, index):
        _mark_stage(draft, index, STAGE_WAITS_BEFORE)
        draft.mark(run_waits("before-stage", stage.name))
        return RoundProgress(Waits.APPROVAL)
    try:
        most = concurrency_of(draft, index)
    except RunPostponed as error:
        raise RunAborted(f"{ABORTED}{error.message}") from error
    return _update_clusters(draft, index, chosen, most)


def _mark_stage(draft: RunDraft, index: int, *words: Words) -> None:
    stage = draft.stage(index)
    draft.put(index, stage._replace(conditions=marked(stage.conditions, draft, *words)))


def _update_clusters(
    draft: RunDraft, index: int, chosen: ChosenClusters, most: int
) -> RoundProgress:
    """Go on with the clusters of a stage, no more than so many of them at once.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `executeUpdatingStage`.
    """
    bindings = {one.target: one.name for one in chosen.selected}
    seen, busy, finished = StageRound(), 0, 0
    for position, update in enumerate(draft.stages[index].clusters):
        if busy >= most:
            break
        if status_of(update.conditions, SUCCEEDED) == "True":
            finished += 1
            continue
        busy += 1
        name = bindings.get(ClusterName(update.cluster))
        binding = None if name is None else draft.bindings[name]
        try:
            if _advance(draft, index, position, binding, seen):
                finished, busy = finished + 1, busy - 1
        except (RunAborted, RunPostponed) as error:
            seen.errors.append(error)
    stage = draft.stages[index]
    seen.conclude(draft, stage.name)
    if finished == len(stage.clusters):
        return _complete(draft, index)
    return RoundProgress(Waits.CLUSTERS, seen.until)


def _advance(
    draft: RunDraft, index: int, position: int, binding: Binding | None, seen: StageRound
) -> bool:
    """Go on with one cluster; return whether it is done and leaves its place to another.

    One that is started takes its place for the round, even if all was there before.
    """
    stage = draft.stages[index]
    update = stage.clusters[position]
    if status_of(update.conditions, SUCCEEDED) == "False":
        text = f"the cluster `{update.cluster}` in the stage {stage.name} has failed"
        raise RunAborted(f"{ABORTED}{text}")
    if binding is None:
        text = (
            f"the binding for cluster `{update.cluster}` in stage `{stage.name}` is not found in "
            "the toBeUpdatedBindings map"
        )
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{text}")
    if status_of(update.conditions, STARTED) != "True":
        started = start_update(draft, binding, update, stage.name)
        conditions = marked(started.conditions, draft, CLUSTER_STARTED)
        _put_cluster(draft, index, position, started._replace(conditions=conditions))
        begun = draft.stages[index]
        draft.put(index, begun._replace(started_at=begun.started_at or draft.at))
        _mark_stage(draft, index, STAGE_STARTED)
        seen.wait_for(draft, draft.stages[index].clusters[position])
        return False
    _refuse_drift(draft, index, position, binding)
    try:
        update, done = check_update(draft, binding, update, stage.name)
    except RunPostponed:
        seen.wait_for(draft, update)
        raise
    _put_cluster(draft, index, position, update)
    if not done:
        seen.wait_for(draft, update)
    return done


def _refuse_drift(draft: RunDraft, index: int, position: int, binding: Binding) -> None:
    """Give up if somebody else changed the binding of a cluster that is being updated."""
    stage = draft.stages[index]
    update = stage.clusters[position]
    if is_in_sync(draft, binding, update) and binding.state == BOUND and has_started(binding):
        return
    place = f"{binding.namespace}/{binding.name}" if binding.namespace else binding.name
    text = (
        f"{CLIENT}the binding of the updating cluster `{update.cluster}` in the stage "
        f"`{stage.name}` is not up-to-date with the desired status, please check the status of "
        f"binding `{place}` and see if there is a concurrent updateRun referencing the same "
        "placement and updating the same cluster"
    )
    conditions = marked(update.conditions, draft, cluster_failed(text))
    _put_cluster(draft, index, position, update._replace(conditions=conditions))
    raise RunAborted(f"{ABORTED}{text}")


def _put_cluster(draft: RunDraft, index: int, position: int, update: ClusterUpdate) -> None:
    stage = draft.stages[index]
    clusters = (*stage.clusters[:position], update, *stage.clusters[position + 1 :])
    draft.put(index, stage._replace(clusters=clusters))


def _complete(draft: RunDraft, index: int) -> RoundProgress:
    """Go on once all clusters of a stage are updated.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `handleStageCompletion`.
    """
    name = draft.stages[index].name
    draft.mark(run_waits("after-stage", name))
    _mark_stage(draft, index, STAGE_WAITS_AFTER)
    passed, until = ends_at(draft, index)
    if not passed:
        return RoundProgress(Waits.APPROVAL if until is None else Waits.TIME, until)
    draft.mark(RUN_PROGRESSING)
    stage: StageStatus = draft.stages[index]
    draft.put(index, stage._replace(ended_at=stage.ended_at or draft.at))
    _mark_stage(draft, index, *STAGE_SUCCEEDED)
    return NEXT_ROUND


STUCK_AFTER = span(minutes=5)  # execution.go updateRunStuckThreshold


@dataclass(frozen=True, slots=True)
class Patience:
    """Whether a cluster has taken too long, or when it will have, `None` if never."""

    is_over: bool
    until: datetime | None


def snapshot_name(draft: RunDraft) -> str:
    """Return the name of the resource snapshot that a run rolls out."""
    number = as_integer(draft.status.resource_index) or 0
    return f"{draft.view.run.placement}-{number}-snapshot"


def is_in_sync(draft: RunDraft, binding: Binding, update: ClusterUpdate) -> bool:
    """Return whether a binding has what the run rolls out to its cluster.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go
    `isBindingSyncedWithClusterStatus`.
    """
    return (
        binding.resource_snapshot == snapshot_name(draft)
        and binding.overrides == update.overrides
        and _versions(draft, binding, update) == binding.annotations.get(VERSIONS, "")
        and binding.apply_strategy == draft.status.apply_strategy
    )


def _versions(draft: RunDraft, binding: Binding, update: ClusterUpdate) -> str:
    """Return of which versions the overrides of a cluster are to be, as a note.

    A run that recorded none, as earlier ones did, leaves them as they are.
    """
    noted = OverrideVersions(draft.status.overrides).among(update.overrides)
    if update.overrides and not noted:
        return binding.annotations.get(VERSIONS, "")
    return noted


def start_update(
    draft: RunDraft, binding: Binding, update: ClusterUpdate, stage: str
) -> ClusterUpdate:
    """Bring a binding to what the run rolls out, unless it is there already.

    Returns:
        The cluster, which has succeeded if all was there and is available.

    Raises:
        RunPostponed: All was there, and has failed.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `executeUpdatingStage`.
    """
    if is_in_sync(draft, binding, update) and binding.state == BOUND:
        if has_started(binding):
            return check_update(draft, binding, update, stage)[0]
        draft.bindings[binding.name] = _announced(draft, binding)
        return update
    versions = _versions(draft, binding, update)
    marks = OverrideVersions(versions).marked(binding.annotations)
    if versions != binding.annotations.get(VERSIONS, ""):
        marks = {name: one for name, one in marks.items() if name != ROLLED_OUT_AT}
    pushed = binding._replace(
        state=BOUND,
        resource_snapshot=snapshot_name(draft),
        overrides=update.overrides,
        annotations=marks,
        apply_strategy=draft.status.apply_strategy,
        generation=binding.generation + 1,
    )
    draft.bindings[binding.name] = _announced(draft, pushed)
    return update


def _announced(draft: RunDraft, binding: Binding) -> Binding:
    """Return a binding that says by which run it is rolled out.

    The index is that of the run's spec, which may be empty.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `updateBindingRolloutStarted`.
    """
    run = draft.view.run
    message = (
        "Detected the new changes on the resources and started the rollout process, "
        f"resourceSnapshotIndex: {run.index}, updateRun: {run.name}"
    )
    condition = Condition(ROLLOUT_STARTED, "True", ROLLOUT_STARTED, message, binding.generation)
    others = [one for one in binding.conditions if one.get("type") != ROLLOUT_STARTED]
    conditions = set_condition(others, condition, at=draft.at)
    return binding._replace(conditions=tuple(conditions))


def check_update(
    draft: RunDraft, binding: Binding, update: ClusterUpdate, stage: str
) -> tuple[ClusterUpdate, bool]:
    """Return a cluster, and whether its resources are available or their differences known.

    Raises:
        RunPostponed: Something failed there; nobody knows whether it stays so.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `checkClusterUpdateResult`.
    """
    if is_available(binding) or reported_difference(binding, "True"):
        return update._replace(conditions=marked(update.conditions, draft, CLUSTER_SUCCEEDED)), True
    if has_failed(binding) or reported_difference(binding, "False"):
        run = draft.view.run.name
        raise RunPostponed(
            f"the cluster updating encountered an error at stage `{stage}`, updateRun := `{run}`"
        )
    return update, False


def patience_with(draft: RunDraft, update: ClusterUpdate) -> Patience:
    """Return whether a cluster that was started has taken too long; five minutes are not."""
    since = parse_moment(text(found(update.conditions, STARTED), "lastTransitionTime"))
    until = second_after(add(since, STUCK_AFTER))
    is_over = until is not None and draft.view.now >= until
    return Patience(is_over, None if is_over else until)


def execute_deletion(draft: RunDraft, removed: Sequence[Binding]) -> RoundProgress:
    """Delete the bindings that are to go; the stage is over once none is left.

    Raises:
        RunAborted: A binding is not where the record of the run has it.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `executeDeleteStage`.
    """
    stage = _stage(draft)
    stage = stage._replace(
        started_at=stage.started_at or draft.at,
        conditions=marked(stage.conditions, draft, STAGE_STARTED),
    )
    draft.status = draft.status._replace(deletion=stage)
    for binding in removed:
        if _is_leaving(stage, binding):
            continue
        draft.deleted.append(binding.name)
        _mark_cluster(draft, binding.target)
    _mark_gone(draft, removed)
    if removed:
        return RoundProgress(Waits.CLUSTERS)
    stage = _stage(draft)
    ended = stage._replace(
        ended_at=stage.ended_at or draft.at,
        conditions=marked(stage.conditions, draft, *STAGE_SUCCEEDED),
    )
    draft.status = draft.status._replace(deletion=ended)
    return FINISHED


def stop_deletion(draft: RunDraft, removed: Sequence[Binding]) -> RoundProgress:
    """Wait for what is being deleted, and delete nothing more.

    Raises:
        RunAborted: A binding is not where the record of the run has it.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/stop.go `stopDeleteStage`.
    """
    stage = _stage(draft)
    draft.status = draft.status._replace(
        deletion=stage._replace(conditions=marked(stage.conditions, draft, STAGE_STOPPING))
    )
    for binding in removed:
        _is_leaving(stage, binding)
    _mark_gone(draft, removed)
    stage = _stage(draft)
    if not any(_is_busy(one) for one in stage.clusters):
        stopped = stage._replace(conditions=marked(stage.conditions, draft, STAGE_STOPPED))
        draft.status = draft.status._replace(deletion=stopped)
    return RoundProgress(Waits.CLUSTERS) if removed else FINISHED


def _stage(draft: RunDraft) -> StageStatus:
    return draft.stage(len(draft.stages))


def _is_busy(update: ClusterUpdate) -> bool:
    started, ended = (status_of(update.conditions, kind) for kind in (STARTED, SUCCEEDED))
    return started == "True" and ended != "True"


def _is_leaving(stage: StageStatus, binding: Binding) -> bool:
    """Return whether the record of a run says that a binding is being deleted.

    Raises:
        RunAborted: The binding says otherwise, or the record does not know it.
    """
    target = binding.target
    update = next((one for one in stage.clusters if one.cluster == target), None)
    if update is None:
        text = f"the to be deleted cluster `{target}` is not in the deleting stage during execution"
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{text}")
    if status_of(update.conditions, SUCCEEDED) == "True":
        text = f"the deleted cluster `{target}` in the deleting stage still has a binding"
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{text}")
    if status_of(update.conditions, STARTED) != "True":
        return False
    if not binding.deleting:
        text = (
            f"the cluster `{target}` in the deleting stage is marked as deleting but its "
            "corresponding binding is not deleting"
        )
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{text}")
    return True


def _mark_cluster(draft: RunDraft, target: ClusterName) -> None:
    stage = _stage(draft)
    clusters = tuple(
        one._replace(conditions=marked(one.conditions, draft, CLUSTER_STARTED))
        if one.cluster == target
        else one
        for one in stage.clusters
    )
    draft.status = draft.status._replace(deletion=stage._replace(clusters=clusters))


def _mark_gone(draft: RunDraft, removed: Iterable[Binding]) -> None:
    """Note that the clusters without a binding are done."""
    removed_targets, stage = {one.target for one in removed}, _stage(draft)
    clusters = tuple(
        one if one.cluster in removed_targets else _gone(draft, one) for one in stage.clusters
    )
    draft.status = draft.status._replace(deletion=stage._replace(clusters=clusters))


def _gone(draft: RunDraft, update: ClusterUpdate) -> ClusterUpdate:
    kinds = (CLUSTER_STARTED, CLUSTER_SUCCEEDED)
    return update._replace(conditions=marked(update.conditions, draft, *kinds))


NANOSECONDS = 1000  # in a microsecond


def tasks_of(draft: RunDraft, index: int) -> tuple[Sequence[StageTask], Sequence[StageTask]]:
    """Return the tasks before and after a stage."""
    stage = decode_stages(draft.status.strategy or {})[index]
    return stage.before, stage.after


def is_begun(draft: RunDraft, index: int) -> bool:
    """Return whether the tasks before a stage are done; what is asked for is noted.

    Raises:
        RunAborted: A task cannot be there, or its request is of another run or stage.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `checkBeforeStageTasksStatus`.
    """
    tasks, _ = tasks_of(draft, index)
    if not tasks:
        return True
    if tasks[0].type != APPROVAL:
        message = f"found unsupported task type in before stage tasks: {tasks[0].type}"
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{message}")
    stage = draft.stage(index)
    task, approved = _approved(draft, stage.before[0], stage.name, BEFORE)
    draft.put(index, stage._replace(before=(task, *stage.before[1:])))
    return approved


def ends_at(draft: RunDraft, index: int) -> tuple[bool, datetime | None]:
    """Return whether the tasks after a stage are done, and when time does what it can.

    Every task is looked at; what is asked for, and what has elapsed, is noted.

    Raises:
        RunAborted: A request is of another run or stage.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `checkAfterStageTasksStatus`.
    """
    _, tasks = tasks_of(draft, index)
    stage, passed, until = draft.stage(index), True, None
    after = list(stage.after)
    for position, task in enumerate(tasks):
        if task.type == TIMED_WAIT:
            moment = _elapses_at(stage, task)
            if moment > draft.view.now:
                passed, until = False, moment
            else:
                conditions = marked(after[position].conditions, draft, TASK_ELAPSED)
                after[position] = after[position]._replace(conditions=conditions)
        elif task.type == APPROVAL:
            after[position], approved = _approved(draft, after[position], stage.name, AFTER)
            passed = passed and approved
    draft.put(index, stage._replace(after=tuple(after)))
    return passed, until


def _elapses_at(stage: StageStatus, task: StageTask) -> datetime:
    """Return when a wait is over: it begins when the stage last changed whether it progresses."""
    since = text(found(stage.conditions, PROGRESSING), "lastTransitionTime")
    return add(parse_moment(since), span(microseconds=-(-(task.wait or 0) // NANOSECONDS)))


def _approved(draft: RunDraft, task: TaskStatus, stage: str, place: str) -> tuple[TaskStatus, bool]:
    """Return a task that waits for a person, and whether one approved.

    A request is made if there is none, and looked at in the next round. Once an approval is
    accepted, it cannot be taken back.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `handleStageApprovalTask`.
    """
    if status_of(task.conditions, TASK_IS_APPROVED) == "True":
        return task, True
    draft.asked.append(task.request)
    run, request = draft.view.run.name, draft.requests.get(task.request)
    asked = task._replace(conditions=marked(task.conditions, draft, TASK_REQUESTED))
    if request is None:
        draft.requests[task.request] = new_request(task.request, run, stage, place)
        return asked, False
    if (request.stage, request.run) != (stage, run):
        scope = draft.view.run.namespace
        message = (
            f"the approval request task `{scope}/{request.name}` is targeting update run "
            f"`{scope}/{request.run}` and stage `{request.stage}`, want target update run "
            f"`{scope}/{run} and stage `{stage}`"
        )
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{message}")
    accepted = request.holds(ACCEPTED)
    if not accepted and not request.holds(APPROVED):
        return asked, False
    if not accepted:
        words = Condition(*REQUEST_ACCEPTED, request.generation)
        conditions = set_condition(request.conditions, words, at=draft.at)
        draft.requests[request.name] = request._replace(conditions=conditions)
    done = marked(asked.conditions, draft, TASK_APPROVED)
    return asked._replace(conditions=done), True


def stop(draft: RunDraft, index: int, chosen: ChosenClusters) -> RoundProgress:
    """Stop at a stage; at the one that deletes if the index is their number.

    Raises:
        RunAborted: The stage that deletes cannot go on.
        RunPostponed: A cluster failed.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/stop.go `stop`.
    """
    draft.mark(RUN_STOPPING)
    if index == len(draft.stages):
        return stop_deletion(draft, chosen.removed)
    stage = draft.stages[index]
    stopping = marked(stage.conditions, draft, STAGE_STOPPING)
    draft.put(index, stage._replace(conditions=stopping))
    bindings = {one.target: one for one in chosen.selected}
    seen, busy, updates = StageRound(), 0, list(draft.stages[index].clusters)
    for position, update in enumerate(updates):
        ended = status_of(update.conditions, SUCCEEDED) in ("True", "False")
        if ended or not status_of(update.conditions, STARTED):
            continue
        done = False
        try:
            binding = bindings[ClusterName(update.cluster)]
            updates[position], done = check_update(draft, binding, update, stage.name)
        except RunPostponed as error:
            seen.errors.append(error)
        if not done:
            busy += 1
            seen.wait_for(draft, update)
    stage = draft.stages[index]._replace(clusters=tuple(updates))
    draft.put(index, stage)
    seen.conclude(draft, stage.name)
    if busy:
        return RoundProgress(Waits.CLUSTERS, seen.until)
    draft.put(index, stage._replace(conditions=marked(stage.conditions, draft, STAGE_STOPPED)))
    return FINISHED
