"""A round of a run that is asked to stop: what was started may finish, nothing more is."""

from reconciler.dialects.kubefleet.updaterun.chosen_clusters import ChosenClusters
from reconciler.dialects.kubefleet.updaterun.cluster_updates import check_update
from reconciler.dialects.kubefleet.updaterun.deletion import stop_deletion
from reconciler.dialects.kubefleet.updaterun.execution import StageRound
from reconciler.dialects.kubefleet.updaterun.failure import RunPostponed
from reconciler.dialects.kubefleet.updaterun.marks import (
    RUN_STOPPING,
    STAGE_STOPPED,
    STAGE_STOPPING,
    STARTED,
    SUCCEEDED,
    marked,
    status_of,
)
from reconciler.dialects.kubefleet.updaterun.round_progress import FINISHED, RoundProgress, Waits
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft
from reconciler.model.identity import ClusterName


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
