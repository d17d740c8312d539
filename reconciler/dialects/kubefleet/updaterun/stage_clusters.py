"""Which clusters are in which stage of a run, and in which order."""

from collections.abc import Iterable, Sequence

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.updates.update_run import (
    ClusterUpdate,
    StageStatus,
    TaskStatus,
)
from reconciler.dialects.kubefleet.api.updates.update_strategy import (
    APPROVAL,
    TIMED_WAIT,
    Stage,
    StageTask,
    decode_stages,
)
from reconciler.dialects.kubefleet.scheduler.failure import as_integer
from reconciler.dialects.kubefleet.updaterun.chosen_clusters import not_an_integer
from reconciler.dialects.kubefleet.updaterun.failure import CLIENT, INVALID, RunAborted
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft, RunView
from reconciler.model.identity import ClusterName
from reconciler.model.labels import matches
from reconciler.model.selectors import refusal_of

MISSING_SHOWN = 10
SAME_TYPE = 2


def compute_stages(draft: RunDraft, selected: Iterable[Binding]) -> None:
    """Record the stages of the strategy that the run has recorded.

    Raises:
        RunAborted: A stage cannot be, or some cluster is in none, or in two.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go `computeRunStageStatus`.
    """
    view, chosen = draft.view, {one.target for one in selected}
    placed: set[ClusterName] = set()
    stages = []
    for stage in decode_stages(draft.status.strategy or {}):
        clusters = _clusters(view, stage, chosen, placed)
        placed.update(clusters)
        stages.append(
            StageStatus(
                name=stage.name,
                clusters=tuple(ClusterUpdate(name) for name in clusters),
                before=_tasks(stage.before, f"{view.run.name}-before-{stage.name}"),
                after=_tasks(stage.after, f"{view.run.name}-after-{stage.name}"),
            )
        )
    draft.status = draft.status._replace(stages=tuple(stages))
    missing = sorted(chosen - placed)
    if missing:
        shown = ", ".join(missing[:MISSING_SHOWN])
        text = "some clusters are not placed in any stage"
        raise RunAborted(
            f"{INVALID}{CLIENT}{text}, total {len(missing)}, showing up to {MISSING_SHOWN}: {shown}"
        )


def _tasks(tasks: Iterable[StageTask], request: str) -> tuple[TaskStatus, ...]:
    return tuple(TaskStatus(one.type, request if one.type == APPROVAL else "") for one in tasks)


def _clusters(
    view: RunView, stage: Stage, chosen: set[ClusterName], placed: set[ClusterName]
) -> Sequence[ClusterName]:
    """Return the clusters of a stage in the order in which they are updated."""
    _check_tasks(view, stage)
    if stage.selector is None:
        return ()
    refusal = refusal_of(stage.selector)
    if refusal:
        raise _refused(view, stage, "the stage label selector is invalid", refusal)
    found = []
    for name in sorted(chosen & view.clusters.keys()):
        labels = view.clusters[name]
        if not matches(stage.selector, labels):
            continue
        if name in placed:
            raise RunAborted(f"{INVALID}{CLIENT}cluster `{name}` appears in more than one stages")
        found.append((_position(stage, name, labels.get(stage.sorting_label or "", "")), name))
    return tuple(name for _, name in sorted(found))


def _position(stage: Stage, cluster: ClusterName, written: str) -> int:
    """Return the number by which a cluster is sorted before its name is."""
    if stage.sorting_label is None:
        return 0
    number = as_integer(written)
    if number is None:
        raise RunAborted(
            f"{INVALID}{CLIENT}the sorting label `{stage.sorting_label}:{written}` on cluster "
            f"`{cluster}` is not valid: {not_an_integer(written)}"
        )
    return number


def _check_tasks(view: RunView, stage: Stage) -> None:
    """Refuse tasks that cannot be.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `validateBeforeStageTask` and `validateAfterStageTask`.
    """
    for words, wrong in (
        ("the before stage tasks are invalid", _wrong_before(stage.before)),
        ("the after stage tasks are invalid", _wrong_after(stage.after)),
    ):
        if wrong:
            raise _refused(view, stage, words, wrong)


def _wrong_before(tasks: Sequence[StageTask]) -> str:
    if len(tasks) > 1:
        return "beforeStageTasks can have at most one task"
    for position, task in enumerate(tasks):
        if task.type != APPROVAL:
            return (
                f"task {position} of type {task.type} is not allowed in beforeStageTasks, allowed "
                "type: Approval"
            )
    return ""


def _wrong_after(tasks: Sequence[StageTask]) -> str:
    if len(tasks) == SAME_TYPE and tasks[0].type == tasks[1].type:
        return f"afterStageTasks cannot have two tasks of the same type: {tasks[0].type}"
    for position, task in enumerate(tasks):
        if task.type == TIMED_WAIT and task.wait is None:
            return f"task {position} of type TimedWait has wait duration set to nil"
        if task.type == TIMED_WAIT and (task.wait or 0) <= 0:
            return f"task {position} of type TimedWait has wait duration <= 0"
    return ""


def _refused(view: RunView, stage: Stage, words: str, wrong: str) -> RunAborted:
    strategy = f"{view.run.namespace}/{view.run.strategy}"
    text = f"{words}, updateStrategy: `{strategy}`, stage: {stage.name}, err: {wrong}"
    return RunAborted(f"{INVALID}{CLIENT}{text}")
