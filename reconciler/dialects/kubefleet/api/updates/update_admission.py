"""What the CEL rules of KubeFleet refuse in staged update runs and their strategies."""

from collections.abc import Callable, Iterator, Mapping

from reconciler.dialects.kubefleet.api.groups import PLACEMENT_GROUP
from reconciler.dialects.kubefleet.api.updates.update_run import INITIALIZE, RUN, STOP
from reconciler.errors import Misconfigured
from reconciler.manifests.names import LONGEST_LABEL
from reconciler.manifests.schemas.violations import UpdateAdmission, Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.known_kinds import Kind

IMPOSSIBLE = frozenset({(INITIALIZE, STOP), (RUN, INITIALIZE), (STOP, INITIALIZE)})
LONGEST_OLD_NAME = 127  # apis/placement/v1alpha1/stagedupdate_types.go


def refuse_run(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a run that its schema accepts: its name may be too long.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `ClusterStagedUpdateRun`,
    its CEL rule.
    """
    name = text(mapping(body, "metadata"), "name")
    old = text(body, "apiVersion").endswith("/v1alpha1")
    longest = LONGEST_OLD_NAME if old else LONGEST_LABEL
    if len(name) <= longest:
        return ()
    message = f"the name has {len(name)} characters, it must have at most {longest}"
    expected = f"at most {longest} characters"
    return (Violation("/metadata/name", "stage-run-name", message, expected),)


def refuse_stages(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with the stages of a strategy that its schema accepts.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `StageConfig`, its CEL
    rules.
    """
    stages = bodies(mapping(body, "spec"), "stages")
    return tuple(one for position, stage in enumerate(stages) for one in _stage(stage, position))


def _stage(stage: Body, position: int) -> Iterator[Violation]:
    at = f"/spec/stages/{position}"
    most = stage.get("maxConcurrency")
    if isinstance(most, int | float) and most < 1:
        message = "`maxConcurrency` must be greater than or equal to 1"
        yield Violation(f"{at}/maxConcurrency", "stage-concurrency", message, "1 or more, or 25%")
    for name, may_wait in (("beforeStageTasks", False), ("afterStageTasks", True)):
        for place, task in enumerate(bodies(stage, name)):
            yield from _task(task, f"{at}/{name}/{place}", may_wait=may_wait)


def _task(task: Body, at: str, *, may_wait: bool) -> Iterator[Violation]:
    """A wait has its time and comes after a stage, an approval takes the time that it takes."""
    waits, timed = text(task, "type") == "TimedWait", task.get("waitTime") is not None
    if waits and not may_wait:
        message = "a stage must not begin with a wait"
        yield Violation(f"{at}/type", "stage-task", message, "Approval, or a wait after a stage")
    elif waits and not timed:
        message = "`waitTime` must be given where `type` is TimedWait"
        yield Violation(at, "stage-task", message, "waitTime: 15m")
    elif timed and not waits:
        message = "`waitTime` must not be given where `type` is Approval"
        yield Violation(f"{at}/waitTime", "stage-task", message, "no waitTime, or TimedWait")


def refuse_old_edit(before: Body, after: Body) -> None:
    """Compare the spec of a run in `v1alpha1` with the one before: nothing of it may change.

    Raises:
        Misconfigured: It is another one.

    Source: kubefleet@e160c1c apis/placement/v1alpha1/stagedupdate_types.go
    `ClusterStagedUpdateRun`, the CEL rule of its spec.
    """
    if before != after:
        raise Misconfigured("`spec` must stay what it was", field="/spec")


def refuse_transition(before: Body, after: Body) -> None:
    """Compare the spec of a run with the one before.

    A run goes from Initialize to Run, and between Run and Stop. An index may be added later or
    taken away, but not be another one.

    Raises:
        Misconfigured: The state cannot follow, or another field is not what it was.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `UpdateRunSpec`, its CEL
    rules.
    """
    states = tuple(text(spec, "state") or INITIALIZE for spec in (before, after))
    if states in IMPOSSIBLE:
        raise Misconfigured(f"`state` must not go from {states[0]} to {states[1]}", field="/spec")
    for name in ("placementName", "stagedRolloutStrategyName", "resourceSnapshotIndex"):
        given = before.get(name), after.get(name)
        if None not in given and given[0] != given[1]:
            raise Misconfigured(f"`{name}` must stay what it was", field=f"/spec/{name}")


def _refused(judge: Callable[[Body, Body], None], before: Body, after: Body) -> list[Violation]:
    """Return what a rule that compares two specs says of an edit."""
    try:
        judge(mapping(before, "spec"), mapping(after, "spec"))
    except Misconfigured as error:
        expected = "what it was, or an object of another name"
        return [Violation(error.field, "update-immutable", error.message, expected)]
    return []


def refuse_run_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an edit of a run, by the rules of the version it is written in."""
    old = text(after, "apiVersion").endswith("/v1alpha1")
    return tuple(_refused(refuse_old_edit if old else refuse_transition, before, after))


def refuse_request_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an edit of an approval: its spec must stay.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `ClusterApprovalRequest`,
    the CEL rule of its spec.
    """
    return tuple(_refused(refuse_old_edit, before, after))


RUN_UPDATES: Mapping[Kind, UpdateAdmission] = {
    (PLACEMENT_GROUP, "ClusterStagedUpdateRun"): refuse_run_update,
    (PLACEMENT_GROUP, "StagedUpdateRun"): refuse_run_update,
    (PLACEMENT_GROUP, "ClusterApprovalRequest"): refuse_request_update,
    (PLACEMENT_GROUP, "ApprovalRequest"): refuse_request_update,
}
"""What is refused of an edit, by kind."""
