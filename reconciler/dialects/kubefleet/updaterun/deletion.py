"""The stage that takes clusters away: all their bindings are deleted at once."""

from collections.abc import Iterable, Sequence

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.updates.update_run import ClusterUpdate, StageStatus
from reconciler.dialects.kubefleet.updaterun.failure import ABORTED, UNEXPECTED, RunAborted
from reconciler.dialects.kubefleet.updaterun.marks import (
    CLUSTER_STARTED,
    CLUSTER_SUCCEEDED,
    STAGE_STARTED,
    STAGE_STOPPED,
    STAGE_STOPPING,
    STAGE_SUCCEEDED,
    STARTED,
    SUCCEEDED,
    marked,
    status_of,
)
from reconciler.dialects.kubefleet.updaterun.round_progress import FINISHED, RoundProgress, Waits
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft
from reconciler.model.identity import ClusterName


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
    left, stage = {one.target for one in removed}, _stage(draft)
    clusters = tuple(one if one.cluster in left else _gone(draft, one) for one in stage.clusters)
    draft.status = draft.status._replace(deletion=stage._replace(clusters=clusters))


def _gone(draft: RunDraft, update: ClusterUpdate) -> ClusterUpdate:
    told = (CLUSTER_STARTED, CLUSTER_SUCCEEDED)
    return update._replace(conditions=marked(update.conditions, draft, *told))
