"""What a run waits for before and after a stage: that a person approves, that time passes."""

from collections.abc import Sequence
from datetime import datetime

from reconciler.dialects.kubefleet.api.updates.approval_request import (
    ACCEPTED,
    AFTER,
    APPROVED,
    BEFORE,
    new_request,
)
from reconciler.dialects.kubefleet.api.updates.update_run import StageStatus, TaskStatus
from reconciler.dialects.kubefleet.api.updates.update_strategy import (
    APPROVAL,
    TIMED_WAIT,
    StageTask,
    decode_stages,
)
from reconciler.dialects.kubefleet.updaterun.failure import ABORTED, UNEXPECTED, RunAborted
from reconciler.dialects.kubefleet.updaterun.marks import APPROVED as TASK_IS_APPROVED
from reconciler.dialects.kubefleet.updaterun.marks import (
    PROGRESSING,
    REQUEST_ACCEPTED,
    TASK_APPROVED,
    TASK_ELAPSED,
    TASK_REQUESTED,
    found,
    marked,
    status_of,
)
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.fields import text
from reconciler.model.moments import add, parse_moment, span

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
        told = f"found unsupported task type in before stage tasks: {tasks[0].type}"
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{told}")
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
        told = (
            f"the approval request task `{scope}/{request.name}` is targeting update run "
            f"`{scope}/{request.run}` and stage `{request.stage}`, want target update run "
            f"`{scope}/{run} and stage `{stage}`"
        )
        raise RunAborted(f"{ABORTED}{UNEXPECTED}{told}")
    accepted = request.holds(ACCEPTED)
    if not accepted and not request.holds(APPROVED):
        return asked, False
    if not accepted:
        words = Condition(*REQUEST_ACCEPTED, request.generation)
        known = set_condition(request.conditions, words, at=draft.at)
        draft.requests[request.name] = request._replace(conditions=known)
    done = marked(asked.conditions, draft, TASK_APPROVED)
    return asked._replace(conditions=done), True
