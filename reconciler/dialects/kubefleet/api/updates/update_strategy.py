"""A staged update strategy: the stages in which a run updates clusters, and what it waits for."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.manifests.durations import decode_duration, format_duration
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.labels import LabelSelector
from reconciler.model.selectors import decode_label_selector

APPROVAL = "Approval"
TIMED_WAIT = "TimedWait"
TASKS = ("beforeStageTasks", "afterStageTasks")
DEFAULT_CONCURRENCY = 1


@dataclass(frozen=True, slots=True)
class StageTask:
    """What is waited for before or after a stage.

    Attributes:
        type: Approval or TimedWait.
        wait: How long, in nanoseconds, `None` if it does not say so.
    """

    type: str
    wait: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Clusters that are updated together.

    Attributes:
        name: Name.
        selector: Which clusters, by their labels; `None` selects none.
        sorting_label: Label whose number says in which order, `None` for that of names.
        concurrency: How many at once, a number or a percentage, `None` if it does not say so.
        before: What is waited for before the first cluster.
        after: What is waited for after the last one.
    """

    name: str
    selector: LabelSelector | None
    sorting_label: str | None
    concurrency: int | str | None
    before: tuple[StageTask, ...]
    after: tuple[StageTask, ...]


def decode_stages(spec: Body) -> tuple[Stage, ...]:
    """Return the stages of a strategy, in order.

    Args:
        spec: Its spec, or what a run recorded of it.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `UpdateStrategySpec`.
    """
    return tuple(map(_stage, fields.bodies(spec, "stages")))


def _stage(body: Body) -> Stage:
    selector = fields.mapping_or_none(body, "labelSelector")
    label, most = body.get("sortingLabelKey"), body.get("maxConcurrency")
    before, after = (tuple(map(_task, fields.bodies(body, name))) for name in TASKS)
    return Stage(
        name=fields.text(body, "name"),
        selector=None if selector is None else decode_label_selector(selector),
        sorting_label=None if label is None else fields.as_text(label, "sortingLabelKey"),
        concurrency=most if isinstance(most, int | str) else None,
        before=before,
        after=after,
    )


def _task(body: Body) -> StageTask:
    wait = body.get("waitTime")
    return StageTask(fields.text(body, "type"), None if wait is None else decode_duration(wait))


def with_defaults(spec: Body) -> Body:
    """Return the spec of a strategy as an API server would fill it in.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `StageConfig`, its
    defaults.
    """
    stages = [
        stage
        if stage.get("maxConcurrency") is not None
        else {**stage, "maxConcurrency": DEFAULT_CONCURRENCY}
        for stage in fields.bodies(spec, "stages")
    ]
    return {**spec, "stages": stages}


def recorded_strategy(spec: Body) -> Body:
    """Return the spec of a strategy as a run records it: durations in one form, none of approvals.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `removeWaitTimeFromUpdateRunStatus`.
    """
    return {**spec, "stages": [_recorded_stage(one) for one in fields.bodies(spec, "stages")]}


def _recorded_stage(stage: Body) -> Body:
    tasks = {name: [_recorded_task(task) for task in fields.bodies(stage, name)] for name in TASKS}
    rest = {key: value for key, value in stage.items() if key not in TASKS and value is not None}
    return {**rest, **{name: listed for name, listed in tasks.items() if listed}}


def _recorded_task(task: Body) -> Mapping[str, object]:
    decoded = _task(task)
    if decoded.type == APPROVAL or decoded.wait is None:
        return {"type": decoded.type}
    return {"type": decoded.type, "waitTime": format_duration(decoded.wait)}
