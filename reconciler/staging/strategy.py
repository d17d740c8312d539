"""Stages of clusters, as strategies say them: who is updated when, and what is waited for between.

A strategy is KubeFleet's; its runs and staged deliveries read it alike.
"""

from collections.abc import Collection, Sequence

from reconciler.manifests.durations import decode_duration
from reconciler.manifests.references import proposal
from reconciler.manifests.schemas.violations import Violation
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.kinds import Kind
from reconciler.model.labels import LabelSelector, decode_label_selector
from reconciler.model.records import dataclass
from reconciler.model.text import shown

APPROVAL = "Approval"
TIMED_WAIT = "TimedWait"
TASKS = ("beforeStageTasks", "afterStageTasks")


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


def asks_approval(tasks: Sequence[StageTask]) -> bool:
    """Return whether a person has to approve."""
    return any(task.type == APPROVAL for task in tasks)


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
    before, after = (tuple(map(decode_task, fields.bodies(body, name))) for name in TASKS)
    return Stage(
        name=fields.text(body, "name"),
        selector=None if selector is None else decode_label_selector(selector),
        sorting_label=None if label is None else fields.as_text(label, "sortingLabelKey"),
        concurrency=most if isinstance(most, int | str) else None,
        before=before,
        after=after,
    )


def decode_task(body: Body) -> StageTask:
    """Return a task before or after a stage."""
    wait = body.get("waitTime")
    return StageTask(fields.text(body, "type"), None if wait is None else decode_duration(wait))


def missing_strategy(name: str, names: Collection[str], kinds: Collection[Kind]) -> Violation:
    """Return that there is no strategy of a name, and which there are.

    Args:
        name: That a staged delivery asks for.
        names: Those of the strategies that there are.
        kinds: Of strategies.
    """
    what = " or ".join(sorted(kind for _, kind in kinds))
    message = f"there is no {what} {shown(name)}, so no cluster is updated"
    return Violation("/spec/strategy", "staged-strategy", message, proposal(name, names, what))
