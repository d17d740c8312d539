"""One cluster of a stage: its binding is brought to what the run rolls out, and watched then."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import BOUND
from reconciler.dialects.kubefleet.api.updates.update_run import ClusterUpdate
from reconciler.dialects.kubefleet.rollout.readiness import (
    has_failed,
    has_started,
    is_available,
    reported_difference,
)
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.dialects.kubefleet.scheduler.failure import as_integer
from reconciler.dialects.kubefleet.updaterun.failure import RunPostponed
from reconciler.dialects.kubefleet.updaterun.marks import (
    CLUSTER_SUCCEEDED,
    STARTED,
    found,
    marked,
)
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.fields import text
from reconciler.model.moments import add, parse_moment, second_after, span

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
        and binding.apply_strategy == draft.status.apply_strategy
    )


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
    pushed = binding._replace(
        state=BOUND,
        resource_snapshot=snapshot_name(draft),
        overrides=update.overrides,
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
    told = (
        "Detected the new changes on the resources and started the rollout process, "
        f"resourceSnapshotIndex: {run.index}, updateRun: {run.name}"
    )
    condition = Condition(ROLLOUT_STARTED, "True", ROLLOUT_STARTED, told, binding.generation)
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
