"""How far the Works of a cluster are in one stage: which are unfinished, and which failed.

Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go
`workConditionSummarizedStatus`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.workgenerator.work_marks import PARENT_SNAPSHOT
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkAnswers:
    """What Works say of a stage: names of those without an answer, of those that failed, and why.

    Attributes:
        unfinished: In order of the Works, like all of them.
        failed: Those that answered False.
        reasons: Of every Work, `""` without an answer.
    """

    unfinished: Sequence[str]
    failed: Sequence[str]
    reasons: Mapping[str, str]


def answers_to(stage: str, works: Sequence[Body]) -> WorkAnswers:
    """Return what Works say of a stage."""
    found = {text(mapping(work, "metadata"), "name"): current(work, stage) for work in works}
    return WorkAnswers(
        unfinished=[n for n, one in found.items() if text(one, "status") not in ("True", "False")],
        failed=[name for name, one in found.items() if text(one, "status") == "False"],
        reasons={name: text(one, "reason") for name, one in found.items()},
    )


def of_another_snapshot(works: Iterable[Body], binding: Binding) -> bool:
    """Return whether a Work was written for a snapshot that the binding has not, or has left."""
    found = (mapping(mapping(work, "metadata"), "annotations") for work in works)
    snapshots = (text(annotations, PARENT_SNAPSHOT) for annotations in found)
    return any(name and name != binding.resource_snapshot for name in snapshots)


def current(work: Body, stage: str) -> Body:
    """Return a condition of the Work's present generation, an empty one if there is none.

    Without a generation in its metadata, every condition is about what is there.
    """
    metadata = mapping(work, "metadata")
    for one in bodies(mapping(work, "status"), "conditions"):
        if text(one, "type") == stage:
            is_current = number(one, "observedGeneration") == number(metadata, "generation")
            return one if is_current or "generation" not in metadata else {}
    return {}
