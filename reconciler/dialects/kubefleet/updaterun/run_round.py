"""One round of a run, as upstream's controller goes through it each time that it is called."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.updates.approval_request import ApprovalRequest
from reconciler.dialects.kubefleet.api.updates.update_run import INITIALIZE, RUN, STOP, RunStatus
from reconciler.dialects.kubefleet.updaterun.execution import execute
from reconciler.dialects.kubefleet.updaterun.failure import UNEXPECTED, RunAborted, RunPostponed
from reconciler.dialects.kubefleet.updaterun.initialization import initialize
from reconciler.dialects.kubefleet.updaterun.marks import (
    INITIALIZED,
    RUN_STOPPED,
    RUN_SUCCEEDED,
    SUCCEEDED,
    marked,
    renewed,
    run_failed,
    run_not_initialized,
    stage_failed,
    status_of,
)
from reconciler.dialects.kubefleet.updaterun.round_progress import AT_REST, RoundProgress, Waits
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft, RunView
from reconciler.dialects.kubefleet.updaterun.stopping import stop
from reconciler.dialects.kubefleet.updaterun.validation import validate
from reconciler.model.body import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRound:
    """What one round of a run did.

    Attributes:
        status: The status of the run.
        bindings: All bindings, by name; those to be deleted included.
        requests: Approval requests, by name.
        deleted: Names of the bindings whose deletion starts.
        made: Resource snapshots that it made, by name.
        asked: Names of the approval requests that it looked at.
        waits: What the run waits for.
        until: When time alone could change something, `None` if never.
        error: Why it did not go on though it is not over, `""` if it did.
    """

    status: RunStatus
    bindings: Mapping[str, Binding]
    requests: Mapping[str, ApprovalRequest]
    deleted: tuple[str, ...] = ()
    made: Mapping[str, Body]
    asked: tuple[str, ...] = ()
    waits: Waits = Waits.NOTHING
    until: datetime | None = None
    error: str = ""


def run_round(
    view: RunView,
    status: RunStatus,
    bindings: Mapping[str, Binding],
    requests: Mapping[str, ApprovalRequest],
) -> RunRound:
    """Return what one round makes of a run.

    Args:
        view: What it looks at.
        status: The status so far.
        bindings: All bindings of the placement, by name.
        requests: All approval requests of the place where the run stands, by name.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/controller.go `Reconcile`.
    """
    initialized = status_of(status.conditions, INITIALIZED)
    over = initialized == "False" or status_of(status.conditions, SUCCEEDED)
    present = _told(RunDraft(view, status, dict(bindings), dict(requests)))
    if over:
        return present
    fresh = renewed(status, view.generation)
    draft = RunDraft(view, fresh, dict(bindings), dict(requests))
    try:
        chosen, index = validate(draft) if initialized else (initialize(draft), 0)
    except RunPostponed as error:
        return RunRound(
            status=status,
            bindings=bindings,
            requests=requests,
            made=draft.made,
            error=error.message,
        )
    except RunAborted as error:
        failed = run_failed(error.message)
        draft.mark(*failed if initialized else (run_not_initialized(error.message),))
        return _told(draft)
    if index is None:
        draft.mark(*RUN_SUCCEEDED)
        return _told(draft)
    if view.run.state == INITIALIZE:
        return present if initialized else _told(draft)
    if view.run.state not in (RUN, STOP):
        text = f"{UNEXPECTED}found unsupported updateRun state: {view.run.state}"
        draft.mark(*run_failed(text))
        return _told(draft)
    move = execute if view.run.state == RUN else stop
    try:
        progress = move(draft, index, chosen)
    except RunAborted as error:
        stage = draft.stage(index)
        conditions = marked(stage.conditions, draft, *stage_failed(error.message))
        ended_at = stage.ended_at or draft.at
        draft.put(index, stage._replace(conditions=conditions, ended_at=ended_at))
        draft.mark(*run_failed(error.message))
        return _told(draft)
    except RunPostponed as error:
        return _told(draft, error=error.message)
    if progress.finished:
        draft.mark(*RUN_SUCCEEDED if view.run.state == RUN else (RUN_STOPPED,))
    return _told(draft, progress)


def _told(draft: RunDraft, progress: RoundProgress = AT_REST, *, error: str = "") -> RunRound:
    return RunRound(
        status=draft.status,
        bindings=draft.bindings,
        requests=draft.requests,
        deleted=tuple(draft.deleted),
        made=draft.made,
        asked=tuple(draft.asked),
        waits=progress.waits,
        until=progress.until,
        error=error,
    )
