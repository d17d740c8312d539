"""What a run holds on to: recorded in its first round, and checked in every later one.

The first round records what is rolled out, to which clusters, in which stages: the placement, the
policy that chose its clusters, their bindings, the order of the clusters in each stage, and how
many of a stage are updated at once. Every later round checks whether that is still so, and returns
which stage is next.
"""

from collections.abc import Iterable, Iterator, Sequence

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import (
    NUMBER_OF_CLUSTERS,
    PARENT,
    POLICY_INDEX,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    SCHEDULED_CONDITION,
    UNSCHEDULED,
    UnexpectedBehavior,
    as_integer,
)
from reconciler.dialects.kubefleet.api.placement import EXTERNAL, PICK_FIXED, PICK_N
from reconciler.dialects.kubefleet.api.snapshots import annotations_of, is_latest, labels_of
from reconciler.dialects.kubefleet.api.updates import (
    DELETE_STAGE,
    ClusterUpdate,
    StageStatus,
    TaskStatus,
    recorded_strategy,
)
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import Snapshot, decode_snapshot
from reconciler.dialects.kubefleet.updaterun.runs import (
    ABORTED,
    CLIENT,
    INVALID,
    PROGRESSING,
    RUN_INITIALIZED,
    STARTED,
    SUCCEEDED,
    UNEXPECTED,
    OverridesOf,
    RunAborted,
    RunDraft,
    RunPostponed,
    RunView,
)
from reconciler.dialects.kubefleet.updaterun.runs import condition_status as status_of
from reconciler.errors import UserError
from reconciler.manifests.admission import read_note, write_note
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.labels import matches, refusal_of
from reconciler.model.records import dataclass, replace
from reconciler.staging.strategy import APPROVAL, TIMED_WAIT, Stage, StageTask, decode_stages

ANY_NUMBER = -1


@dataclass(frozen=True, slots=True)
class ChosenClusters:
    """The bindings of a placement, in the order of their names.

    Attributes:
        selected: Of the clusters that the latest policy chose.
        removed: Of those that are to lose the resources.
    """

    selected: tuple[Binding, ...]
    removed: tuple[Binding, ...]


def observe_placement(draft: RunDraft) -> None:
    """Record how the placement has its resources applied.

    Raises:
        RunAborted: There is no such placement, or it does not wait for runs.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go `validatePlacement`.
    """
    placement = draft.view.placement
    if placement is None:
        raise RunAborted(f"{INVALID}{CLIENT}parent placement not found")
    kind = placement.strategy.type
    if kind != EXTERNAL:
        raise RunAborted(
            f"{INVALID}{CLIENT}parent placement does not have an external rollout strategy, "
            f"current strategy: {kind}"
        )
    draft.status = draft.status._replace(apply_strategy=placement.strategy.apply)


def observe_policy(draft: RunDraft) -> Snapshot:
    """Record which policy snapshot chose the clusters, and how many it wanted; return it.

    Raises:
        RunAborted: There is not exactly one latest snapshot, or it is not scheduled.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `determinePolicySnapshot`.
    """
    body = _latest(draft.view)
    snapshot, index = decode_snapshot(body), labels_of(body).get(POLICY_INDEX, "")
    place = f"{draft.view.run.namespace}/{snapshot.name}"
    if not index:
        text = f"policy snapshot `{place}` does not have a policy index label"
        raise RunAborted(f"{INVALID}{UNEXPECTED}{text}")
    draft.status = draft.status._replace(policy_index=index)
    draft.status = draft.status._replace(cluster_count=_wanted(snapshot, place))
    if not _is_scheduled(snapshot):
        raise RunAborted(f"{INVALID}policy snapshot `{snapshot.name}` not fully scheduled yet")
    return snapshot


def _latest(view: RunView) -> Body:
    latest = [
        body
        for body in view.policies
        if is_latest(body) and labels_of(body).get(PARENT) == view.run.placement
    ]
    if not latest:
        raise RunAborted(f"{INVALID}no latest policy snapshot found for placement {view.place}")
    if len(latest) > 1:
        text = f"multiple active policy snapshots found for placement {view.place}"
        raise RunAborted(f"{INVALID}{UNEXPECTED}{text}: got {len(latest)}, want 1")
    return latest[0]


def _wanted(snapshot: Snapshot, place: str) -> int:
    """Return how many clusters a policy wants, `ANY_NUMBER` for all that fit."""
    policy = snapshot.policy
    if policy.placement_type == PICK_FIXED:
        return len(policy.cluster_names)
    if policy.placement_type != PICK_N:
        return ANY_NUMBER
    written = snapshot.annotations.get(NUMBER_OF_CLUSTERS)
    number = None if written is None else as_integer(written)
    if number is not None and number >= 0:
        return number
    wrong = f"cannot find annotation {NUMBER_OF_CLUSTERS}"
    if written is not None:
        why = "%!w(<nil>)" if number is not None else not_an_integer(written)
        wrong = f"invalid annotation {NUMBER_OF_CLUSTERS}: {written} is not a valid count: {why}"
    text = f"{wrong}: the policy snapshot `{place}` doesn't have valid cluster count annotation"
    raise RunAborted(f"{INVALID.removesuffix(': ')}, {UNEXPECTED}{text}")


def not_an_integer(text: str) -> str:
    """Return what Go says of a text that is no integer.

    >>> not_an_integer("x")
    'strconv.Atoi: parsing "x": invalid syntax'

    Source: Go src/strconv/atoi.go `NumError`.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    far = digits.isascii() and digits.isdigit()
    why = "value out of range" if far else "invalid syntax"
    return f'strconv.Atoi: parsing "{text}": {why}'


def _is_scheduled(snapshot: Snapshot) -> bool:
    return any(
        item.get("type") == SCHEDULED_CONDITION
        and item.get("status") == "True"
        and item.get("observedGeneration") == snapshot.generation
        for item in snapshot.status.conditions or ()
    )


def choose_clusters(draft: RunDraft, policy: Snapshot) -> ChosenClusters:
    """Return the bindings of the clusters chosen, and of those to be left; record how many.

    Raises:
        RunAborted: There are none at all, or not as many as the policy wants.
        RunPostponed: The scheduler has not looked at all of them yet.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `collectScheduledClusters`.
    """
    ordered = sorted(draft.bindings.values(), key=lambda one: one.name)
    removed = tuple(one for one in ordered if one.state == UNSCHEDULED)
    selected = tuple(_selected(ordered, policy.name))
    if not (selected or removed):
        place = f"{draft.view.run.namespace}/{policy.name}"
        text = "no scheduled or to-be-deleted bindings found for the latest policy snapshot"
        raise RunAborted(f"{INVALID}{text} {place}")
    wanted = draft.status.cluster_count
    if wanted == ANY_NUMBER:
        draft.status = draft.status._replace(cluster_count=len(selected))
    elif wanted != len(selected):
        text = (
            f"the number of selected bindings {len(selected)} is not equal to the observed cluster "
            f"count {wanted}"
        )
        raise RunAborted(f"{INVALID}{UNEXPECTED}{text}")
    return ChosenClusters(selected, removed)


def _selected(ordered: list[Binding], policy: str) -> Iterator[Binding]:
    for member in ordered:
        if member.state == UNSCHEDULED:
            continue
        if member.policy_snapshot != policy:
            raise RunPostponed(
                f"binding `{member.namespace}/{member.name}` with old policy snapshot "
                f"`{member.namespace}/{member.policy_snapshot}` has state {member.state}, "
                "we might observe a transient state, need retry"
            )
        yield member


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
        selection = draft.view.select()
    except UnexpectedBehavior as error:
        raise RunPostponed(f"{UNEXPECTED}{error.message}") from error
    except UserError as error:
        raise RunAborted(f"{INVALID}{CLIENT}{error.message}") from error
    if selection.error is not None:
        raise RunPostponed(f"{UNEXPECTED}{selection.error.message}")
    before = draft.view.resources
    draft.made = {n: body for n, body in selection.snapshots.items() if body is not before.get(n)}
    index = labels_of(selection.snapshots[selection.latest]).get(RESOURCE_INDEX, "")
    draft.status = draft.status._replace(resource_index=index)
    return dict(selection.snapshots)


def _record_overrides(draft: RunDraft, group: list[Body]) -> None:
    """Record the overrides of each cluster, and of which versions they are.

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
    versions = dict[str, object]()
    for stage in stages:
        for one in stage.clusters:
            versions |= read_note(draft.view.versions(one.overrides)) if one.overrides else {}
    noted = write_note(versions) if versions else ""
    draft.status = draft.status._replace(stages=stages, overrides=noted)


def _overridden(stage: StageStatus, overrides: OverridesOf) -> StageStatus:
    clusters = (
        one._replace(overrides=overrides(ClusterName(one.cluster))) for one in stage.clusters
    )
    return stage._replace(clusters=tuple(clusters))


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
    status = draft.status
    observe_placement(fresh)
    if fresh.status.apply_strategy != status.apply_strategy:
        # Unlike upstream: both as they are written, without the addresses that Go would print.
        text = "the applyStrategy in the updateRun is outdated"
        latest, recorded = fresh.status.apply_strategy, status.apply_strategy
        message = f"latest: {dict(latest or {})}, recorded: {dict(recorded or {})}"
        raise RunAborted(f"{ABORTED}{CLIENT}{text}, {message}")
    policy = observe_policy(fresh)
    if fresh.status.policy_index != status.policy_index:
        text = "the policy snapshot index used in the updateRun is outdated"
        raise _changed(text, fresh.status.policy_index, status.policy_index)
    wanted = fresh.status.cluster_count
    if wanted not in (NONE, status.cluster_count):
        text = "the cluster count initialized in the updateRun is outdated"
        raise _changed(text, wanted, status.cluster_count)
    chosen = choose_clusters(fresh, policy)
    if status.strategy is None:
        raise _unexpected("the updateRun has nil updateStrategySnapshot")
    compute_stages(fresh, chosen.selected)
    if status.stages is None:
        raise _unexpected("the updateRun has nil stagesStatus")
    updating, finished = _progress(draft, status.stages, fresh.stages)
    return chosen, _next_stage(draft, chosen, updating, finished)


def _changed(text: str, latest: object, recorded: object) -> RunAborted:
    return RunAborted(f"{ABORTED}{text}, latest: {latest}, recorded: {recorded}")


def _unexpected(text: str) -> RunAborted:
    return RunAborted(f"{ABORTED}{UNEXPECTED}{text}")


def _progress(
    draft: RunDraft, recorded: tuple[StageStatus, ...], fresh: tuple[StageStatus, ...]
) -> tuple[int, int]:
    """Return which stage is updating and which was finished last, `NONE` if none is.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/validation.go `validateUpdateStagesStatus`.
    """
    if len(recorded) != len(fresh):
        text = "the number of stages in the updateRun has changed"
        raise RunAborted(f"{ABORTED}{text}, new: {len(fresh)}, existing: {len(recorded)}")
    updating = finished = NONE
    for index, (stage, wanted) in enumerate(zip(recorded, fresh, strict=True)):
        _compare(index, stage, wanted)
        most = concurrency_of(draft, index)
        updating, finished = _judge(index, stage, most, updating, finished)
    return updating, finished


def _compare(index: int, recorded: StageStatus, fresh: StageStatus) -> None:
    """Refuse a stage that has another name, or other clusters, or in another order."""
    if recorded.name != fresh.name:
        text = f"index `{index}` stage name in the updateRun has changed"
        raise RunAborted(f"{ABORTED}{text}, new: {fresh.name}, existing: {recorded.name}")
    sizes = len(fresh.clusters), len(recorded.clusters)
    if sizes[0] != sizes[1]:
        text = f"the number of clusters in index `{index}` stage has changed"
        raise RunAborted(f"{ABORTED}{text}, new: {sizes[0]}, existing: {sizes[1]}")
    for position, (new, old) in enumerate(zip(fresh.clusters, recorded.clusters, strict=True)):
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
    for cluster in stage.clusters:
        if status_of(cluster.conditions, SUCCEEDED) != "True":
            raise _unexpected(
                f"cluster `{cluster.cluster}` in the finished stage `{stage.name}` "
                "has not succeeded"
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
    clusters = []
    for name in sorted(chosen & view.clusters.keys()):
        labels = view.clusters[name]
        if not matches(stage.selector, labels):
            continue
        if name in placed:
            raise RunAborted(f"{INVALID}{CLIENT}cluster `{name}` appears in more than one stages")
        clusters.append((_position(stage, name, labels.get(stage.sorting_label or "", "")), name))
    return tuple(name for _, name in sorted(clusters))


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


NOT_GIVEN = "nil value for IntOrString"
NOT_VALID = "invalid value for IntOrString: "


def concurrency_of(draft: RunDraft, index: int) -> int:
    """Return how many clusters of a stage are updated at once.

    A percentage is one of the clusters of the stage, rounded down; it is one cluster at least.

    Raises:
        RunPostponed: The strategy does not say so, or what is neither number nor percentage.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go
    `calculateMaxConcurrencyValue`.
    """
    most = decode_stages(draft.status.strategy or {})[index].concurrency
    return scaled(most, len(draft.stages[index].clusters)) or 1


def scaled(share: int | str | None, total: int) -> int:
    """Return a number, or a percentage of the total rounded down.

    >>> scaled(2, 5), scaled("50%", 5), scaled("1%", 5)
    (2, 2, 0)

    Raises:
        RunPostponed: It is neither.

    Source: k8s.io/apimachinery pkg/util/intstr/intstr.go `GetScaledValueFromIntOrPercent`.
    """
    if share is None:
        raise RunPostponed(NOT_GIVEN)
    if isinstance(share, int):
        return share
    if not share.endswith("%"):
        raise RunPostponed(f"{NOT_VALID}invalid type: string is not a percentage")
    percent = as_integer(share.removesuffix("%"))
    if percent is None:
        why = not_an_integer(share.removesuffix("%"))
        raise RunPostponed(f'{NOT_VALID}invalid value "{share}": {why}')
    return percent * total // 100
