"""Every later round of a run: whether what it holds on to is still so, and which stage is next."""

from collections.abc import Iterable
from dataclasses import replace

from reconciler.dialects.kubefleet.api.updates.update_run import StageStatus
from reconciler.dialects.kubefleet.updaterun.chosen_clusters import (
    ChosenClusters,
    choose_clusters,
    observe_placement,
    observe_policy,
)
from reconciler.dialects.kubefleet.updaterun.concurrency import concurrency_of
from reconciler.dialects.kubefleet.updaterun.failure import (
    ABORTED,
    CLIENT,
    UNEXPECTED,
    RunAborted,
)
from reconciler.dialects.kubefleet.updaterun.marks import PROGRESSING, STARTED, SUCCEEDED, status_of
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft
from reconciler.dialects.kubefleet.updaterun.stage_clusters import compute_stages

NONE = -1


def validate(draft: RunDraft) -> tuple[ChosenClusters, int | None]:
    """Return the clusters of a run, and the stage to go on with.

    That is the number of stages for the stage that deletes, and `None` once all are over.

    Raises:
        RunAborted: Something is not what it was.
        RunPostponed: It cannot be told yet.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/validation.go `validate`.
    """
    fresh = replace(draft)
    known = draft.status
    observe_placement(fresh)
    if fresh.status.apply_strategy != known.apply_strategy:
        # Unlike upstream: both as they are written, without the addresses that Go would print.
        text = "the applyStrategy in the updateRun is outdated"
        latest, recorded = fresh.status.apply_strategy, known.apply_strategy
        told = f"latest: {dict(latest or {})}, recorded: {dict(recorded or {})}"
        raise RunAborted(f"{ABORTED}{CLIENT}{text}, {told}")
    policy = observe_policy(fresh)
    if fresh.status.policy_index != known.policy_index:
        text = "the policy snapshot index used in the updateRun is outdated"
        raise _changed(text, fresh.status.policy_index, known.policy_index)
    wanted = fresh.status.cluster_count
    if wanted not in (NONE, known.cluster_count):
        text = "the cluster count initialized in the updateRun is outdated"
        raise _changed(text, wanted, known.cluster_count)
    chosen = choose_clusters(fresh, policy)
    if known.strategy is None:
        raise _unexpected("the updateRun has nil updateStrategySnapshot")
    compute_stages(fresh, chosen.selected)
    if known.stages is None:
        raise _unexpected("the updateRun has nil stagesStatus")
    updating, finished = _progress(draft, known.stages, fresh.stages)
    return chosen, _next_stage(draft, chosen, updating, finished)


def _changed(text: str, latest: object, recorded: object) -> RunAborted:
    return RunAborted(f"{ABORTED}{text}, latest: {latest}, recorded: {recorded}")


def _unexpected(text: str) -> RunAborted:
    return RunAborted(f"{ABORTED}{UNEXPECTED}{text}")


def _progress(
    draft: RunDraft, known: tuple[StageStatus, ...], fresh: tuple[StageStatus, ...]
) -> tuple[int, int]:
    """Return which stage is updating and which was finished last, `NONE` if none is.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/validation.go `validateUpdateStagesStatus`.
    """
    if len(known) != len(fresh):
        text = "the number of stages in the updateRun has changed"
        raise RunAborted(f"{ABORTED}{text}, new: {len(fresh)}, existing: {len(known)}")
    updating = finished = NONE
    for index, (stage, wanted) in enumerate(zip(known, fresh, strict=True)):
        _compare(index, stage, wanted)
        most = concurrency_of(draft, index)
        updating, finished = _judge(index, stage, most, updating, finished)
    return updating, finished


def _compare(index: int, known: StageStatus, fresh: StageStatus) -> None:
    """Refuse a stage that has another name, or other clusters, or in another order."""
    if known.name != fresh.name:
        text = f"index `{index}` stage name in the updateRun has changed"
        raise RunAborted(f"{ABORTED}{text}, new: {fresh.name}, existing: {known.name}")
    sizes = len(fresh.clusters), len(known.clusters)
    if sizes[0] != sizes[1]:
        text = f"the number of clusters in index `{index}` stage has changed"
        raise RunAborted(f"{ABORTED}{text}, new: {sizes[0]}, existing: {sizes[1]}")
    for position, (new, old) in enumerate(zip(fresh.clusters, known.clusters, strict=True)):
        if new.cluster != old.cluster:
            text = f"the `{position}` cluster in the `{index}` stage has changed"
            raise RunAborted(f"{ABORTED}{text}, new: {new.cluster}, existing: {old.cluster}")


def _judge(
    index: int, stage: StageStatus, most: int, updating: int, finished: int
) -> tuple[int, int]:
    """Return which stage is updating and which was finished last, after one more of them.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/validation.go
    `validateClusterUpdatingStatus`.
    """
    succeeded = status_of(stage.conditions, SUCCEEDED)
    if succeeded == "True":
        _check_finished(index, stage, updating, finished)
        return updating, index
    if succeeded == "False":
        raise RunAborted(
            f"{ABORTED}the stage `{stage.name}` has failed, err: {_message(stage, SUCCEEDED)}"
        )
    if not status_of(stage.conditions, PROGRESSING):
        return updating, finished
    if updating != NONE:
        raise _unexpected(
            f"the stage `{stage.name}` is updating, but there is already a stage with index "
            f"`{updating}` updating"
        )
    _check_order("updating", index, stage, finished)
    busy = sum(
        status_of(one.conditions, STARTED) == "True"
        and status_of(one.conditions, SUCCEEDED) != "True"
        for one in stage.clusters
    )
    if busy > most:
        raise _unexpected(
            f"the number of updating clusters `{busy}` in the updating stage `{stage.name}` "
            f"exceeds maxConcurrency `{most}`"
        )
    return index, finished


def _check_finished(index: int, stage: StageStatus, updating: int, finished: int) -> None:
    if updating != NONE:
        raise _unexpected(f"the finished stage `{index}` is after the updating stage `{updating}`")
    for one in stage.clusters:
        if status_of(one.conditions, SUCCEEDED) != "True":
            raise _unexpected(
                f"cluster `{one.cluster}` in the finished stage `{stage.name}` has not succeeded"
            )
    _check_order("finished", index, stage, finished)


def _check_order(word: str, index: int, stage: StageStatus, finished: int) -> None:
    if index != finished + 1:
        raise _unexpected(
            f"the {word} stage `{stage.name}` is not right after the last finished stage with "
            f"index `{finished}`"
        )


def _next_stage(
    draft: RunDraft, chosen: ChosenClusters, updating: int, finished: int
) -> int | None:
    """Return the stage to go on with.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/validation.go `validateDeleteStageStatus`.
    """
    deletion, total = draft.status.deletion, len(draft.stages)
    if deletion is None:
        raise _unexpected("the updateRun has nil deletionStageStatus")
    _check_removed((one.target for one in chosen.removed), deletion)
    ended = status_of(deletion.conditions, SUCCEEDED)
    if updating != NONE or finished < total - 1:
        if ended in ("True", "False") or status_of(deletion.conditions, PROGRESSING) == "True":
            raise _unexpected(
                "the delete stage is active, but there are still stages updating, "
                f"updatingStageIndex: {updating}, lastFinishedStageIndex: {finished}"
            )
        return updating if updating != NONE else finished + 1
    if ended == "False":
        text = f"the delete stage has failed, err: {_message(deletion, SUCCEEDED)}"
        raise RunAborted(f"{ABORTED}{text}")
    return None if ended == "True" else total


def _check_removed(targets: Iterable[str], deletion: StageStatus) -> None:
    planned = {one.cluster for one in deletion.clusters}
    for target in targets:
        if target not in planned:
            raise _unexpected(f"the cluster `{target}` to be deleted is not in the delete stage")


def _message(stage: StageStatus, kind: str) -> str:
    return next(str(one.get("message", "")) for one in stage.conditions if one.get("type") == kind)
