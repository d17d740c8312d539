"""A round of a run that goes on: one stage, a few of its clusters."""

from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import BOUND
from reconciler.dialects.kubefleet.api.updates.update_run import RUN, ClusterUpdate, StageStatus
from reconciler.dialects.kubefleet.rollout.readiness import has_started
from reconciler.dialects.kubefleet.updaterun.chosen_clusters import ChosenClusters
from reconciler.dialects.kubefleet.updaterun.cluster_updates import (
    check_update,
    is_in_sync,
    patience_with,
    start_update,
)
from reconciler.dialects.kubefleet.updaterun.concurrency import concurrency_of
from reconciler.dialects.kubefleet.updaterun.deletion import execute_deletion
from reconciler.dialects.kubefleet.updaterun.failure import (
    ABORTED,
    CLIENT,
    UNEXPECTED,
    RunAborted,
    RunPostponed,
)
from reconciler.dialects.kubefleet.updaterun.marks import (
    CLUSTER_STARTED,
    PROGRESSING,
    RUN_PROGRESSING,
    STAGE_SKIPPED,
    STAGE_STARTED,
    STAGE_SUCCEEDED,
    STAGE_WAITS_AFTER,
    STAGE_WAITS_BEFORE,
    STARTED,
    STUCK,
    SUCCEEDED,
    WAITING,
    Words,
    cluster_failed,
    found,
    marked,
    run_stuck,
    run_waits,
    status_of,
)
from reconciler.dialects.kubefleet.updaterun.round_progress import NEXT_ROUND, RoundProgress, Waits
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft
from reconciler.dialects.kubefleet.updaterun.tasks import ends_at, is_begun
from reconciler.errors import UserError
from reconciler.model.identity import ClusterName
from reconciler.model.moments import earliest


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
        told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        aborted = any(isinstance(one, RunAborted) for one in self.errors)
        raise RunAborted(told) if aborted else RunPostponed(told)


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


def _mark_stage(draft: RunDraft, index: int, *told: Words) -> None:
    stage = draft.stage(index)
    draft.put(index, stage._replace(conditions=marked(stage.conditions, draft, *told)))


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
