"""The first round of a run: what it rolls out, to which clusters, in which stages."""

from reconciler.dialects.kubefleet.api.names import PARENT, RESOURCE_HASH, RESOURCE_INDEX
from reconciler.dialects.kubefleet.api.updates.update_run import (
    DELETE_STAGE,
    ClusterUpdate,
    StageStatus,
)
from reconciler.dialects.kubefleet.api.updates.update_strategy import recorded_strategy
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior, as_integer
from reconciler.dialects.kubefleet.snapshots.revision import annotations_of, labels_of
from reconciler.dialects.kubefleet.updaterun.chosen_clusters import (
    ChosenClusters,
    choose_clusters,
    observe_placement,
    observe_policy,
)
from reconciler.dialects.kubefleet.updaterun.failure import (
    CLIENT,
    INVALID,
    UNEXPECTED,
    RunAborted,
    RunPostponed,
)
from reconciler.dialects.kubefleet.updaterun.marks import RUN_INITIALIZED
from reconciler.dialects.kubefleet.updaterun.run_draft import OverridesOf, RunDraft
from reconciler.dialects.kubefleet.updaterun.stage_clusters import compute_stages
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName


def initialize(draft: RunDraft) -> ChosenClusters:
    """Record everything that a run holds on to, and that it is initialized.

    Raises:
        RunAborted: It cannot be; what was recorded before that stands.
        RunPostponed: It cannot be yet; nothing is recorded.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go `initialize`.
    """
    observe_placement(draft)
    policy = observe_policy(draft)
    chosen = choose_clusters(draft, policy)
    view = draft.view
    if view.strategy is None:
        place = f"{view.run.namespace}/{view.run.strategy}"
        raise RunAborted(f"{INVALID}{CLIENT}referenced updateStrategy not found: `{place}`")
    draft.status = draft.status._replace(strategy=recorded_strategy(view.strategy))
    compute_stages(draft, chosen.selected)
    removed = sorted(one.target for one in chosen.removed)
    deletion = StageStatus(DELETE_STAGE, tuple(map(ClusterUpdate, removed)))
    draft.status = draft.status._replace(deletion=deletion)
    _record_overrides(draft, _observe_resources(draft))
    draft.mark(RUN_INITIALIZED)
    return chosen


def _observe_resources(draft: RunDraft) -> list[Body]:
    """Record which resource snapshot is rolled out; return all of its index.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `getResourceSnapshotObjs`.
    """
    view, index = draft.view, draft.view.run.index
    resources = view.resources
    if not index:
        taken = _taken(draft)
        resources = {**resources, **taken}
        index = draft.status.resource_index
    number = as_integer(index)
    if number is None or number < 0:
        text = f"invalid resource snapshot index `{index}` provided, expected an integer >= 0"
        raise RunAborted(f"{INVALID}{CLIENT}{text}")
    group = [
        body
        for _, body in sorted(resources.items())
        if labels_of(body).get(PARENT) == view.run.placement
        and labels_of(body).get(RESOURCE_INDEX) == index
    ]
    if not group:
        text = f"no resourceSnapshots with index `{number}` found for placement `{view.place}`"
        raise RunAborted(f"{INVALID}{CLIENT}{text}")
    if not any(annotations_of(body).get(RESOURCE_HASH) for body in group):
        text = f"no master resourceSnapshot found for placement {view.place}"
        raise RunAborted(f"{INVALID}{UNEXPECTED}{text}")
    draft.status = draft.status._replace(resource_index=index)
    return group


def _taken(draft: RunDraft) -> dict[str, Body]:
    """Return the resource snapshots with one of what is selected now, and record its index."""
    try:
        found = draft.view.select()
    except UnexpectedBehavior as error:
        raise RunPostponed(f"{UNEXPECTED}{error.message}") from error
    except UserError as error:
        raise RunAborted(f"{INVALID}{CLIENT}{error.message}") from error
    if found.error is not None:
        raise RunPostponed(f"{UNEXPECTED}{found.error.message}")
    before = draft.view.resources
    draft.made = {n: body for n, body in found.snapshots.items() if body is not before.get(n)}
    index = labels_of(found.snapshots[found.latest]).get(RESOURCE_INDEX, "")
    draft.status = draft.status._replace(resource_index=index)
    return dict(found.snapshots)


def _record_overrides(draft: RunDraft, group: list[Body]) -> None:
    """Record the overrides of each cluster.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `recordOverrideSnapshots`.
    """
    try:
        overrides = draft.view.overrides(group)
        stages = tuple(_overridden(stage, overrides) for stage in draft.stages)
    except UnexpectedBehavior as error:
        raise RunAborted(f"{INVALID}{UNEXPECTED}{error.message}") from error
    except UserError as error:
        raise RunAborted(f"{INVALID}{error.message}") from error
    draft.status = draft.status._replace(stages=stages)


def _overridden(stage: StageStatus, overrides: OverridesOf) -> StageStatus:
    clusters = (
        one._replace(overrides=overrides(ClusterName(one.cluster))) for one in stage.clusters
    )
    return stage._replace(clusters=tuple(clusters))
