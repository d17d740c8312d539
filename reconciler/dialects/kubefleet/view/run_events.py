"""Events of staged update runs: stages that begin, ask for an approval, end; how a run ends."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.updates.update_run import (
    RunStatus,
    StageStatus,
    readable_run_status,
)
from reconciler.dialects.kubefleet.updaterun.marks import (
    APPROVED,
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
    found,
    status_of,
)
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.upstream_event import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
)

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
    known = {stage.name: stage for stage in before.stages or ()}
    for stage in after.stages or ():
        yield from _of_stage(known.get(stage.name, UNBEGUN), stage, run)
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
        if ended.get("status") == status_of(before.conditions, kind):
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
        if status_of(task.conditions, kind) == "True"
    )
