"""What the Works of a cluster say of its binding, as upstream's work generator draws it from them.

Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `setBindingStatus`,
`setAllWorkAppliedCondition`, `setAllWorkAvailableCondition`, `setAllWorkDiffReportedCondition`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.rollout.readiness import UNTRACKABLE
from reconciler.dialects.kubefleet.view.status_conditions import (
    APPLIED,
    AVAILABLE,
    DIFF_REPORTED,
    reported,
)
from reconciler.dialects.kubefleet.workgenerator.work_marks import PARENT_SNAPSHOT
from reconciler.model.conditions import Condition
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.world import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Upstream's words for a stage."""

    pending: str
    pending_text: str
    no: str
    unfinished: str
    failed: str
    yes: str
    done: str


_WORDS = {
    APPLIED: _Words(
        pending="ApplyInProgress",
        pending_text="Resources are being applied",
        no="NotAllWorkHaveBeenApplied",
        unfinished="Work object {} has not yet completed the apply op",
        failed="Work object {} has failed to apply",
        yes="AllWorkHaveBeenApplied",
        done="All corresponding work objects are applied",
    ),
    AVAILABLE: _Words(
        pending="",
        pending_text="",
        no="NotAllWorkAreAvailable",
        unfinished="Work object {} has not yet completed availability check",
        failed="Work object {} is not yet available",
        yes="AllWorkAreAvailable",
        done="All corresponding work objects are available",
    ),
    DIFF_REPORTED: _Words(
        pending="DiffReportInProgress",
        pending_text="Diff reporting on resources is in progress",
        no="NotAllWorkHaveDiffReported",
        unfinished="Work object {} has not yet completed diff reporting",
        failed="Work object {} has failed to report diff",
        yes="AllWorkHaveDiffReported",
        done="All corresponding work objects have reported diff",
    ),
}
NOT_TRACKABLE = "NotAllWorkAreAvailabilityTrackable"


def work_conditions(binding: Binding, works: Sequence[Body]) -> Iterator[Condition]:
    """Yield what Works say of the stages of a binding; a stage that is not reached is left out.

    Works of another snapshot than the binding's are not told of its cluster yet.

    Args:
        binding: Of the cluster.
        works: Those of its placement that the cluster reports, by name; at least one.
    """
    stages = reported(binding.apply_strategy)
    if any(_is_of_other_snapshot(work, binding) for work in works):
        words = _WORDS[stages[0]]
        texts = words.pending, words.pending_text
        yield Condition(stages[0], "False", *texts, binding.generation)
        return
    for stage in stages:
        condition = _condition(stage, works, binding.generation)
        yield condition
        if condition.status != "True":
            return


def _is_of_other_snapshot(work: Body, binding: Binding) -> bool:
    """Return whether a Work was written for a snapshot that the binding has not, or has left."""
    annotations = mapping(mapping(work, "metadata"), "annotations")
    snapshot = text(annotations, PARENT_SNAPSHOT)
    return bool(snapshot) and snapshot != binding.resource_snapshot


def _condition(stage: str, works: Sequence[Body], generation: int) -> Condition:
    """Return the condition of one stage: what is unfinished comes before what failed."""
    words, found = _WORDS[stage], {_name(work): _current(work, stage) for work in works}
    unfinished = [name for name, one in found.items() if text(one, "status") not in _ANSWERS]
    failed = [name for name, one in found.items() if text(one, "status") == "False"]
    untracked = [name for name, one in found.items() if text(one, "reason") in UNTRACKABLE]
    if unfinished:
        return Condition(stage, "False", words.no, words.unfinished.format(*unfinished), generation)
    if failed:
        return Condition(stage, "False", words.no, words.failed.format(*failed), generation)
    if stage == AVAILABLE and untracked:
        told = f"The availability of work object {untracked[0]} is not trackable"
        return Condition(stage, "True", NOT_TRACKABLE, told, generation)
    return Condition(stage, "True", words.yes, words.done, generation)


_ANSWERS = ("True", "False")


def _name(work: Body) -> str:
    return text(mapping(work, "metadata"), "name")


def _current(work: Body, stage: str) -> Body:
    """Return a condition of the Work's present generation, an empty one if there is none.

    Without a generation in its metadata, every condition is about what is there.
    """
    metadata = mapping(work, "metadata")
    for one in bodies(mapping(work, "status"), "conditions"):
        if text(one, "type") == stage:
            is_current = number(one, "observedGeneration") == number(metadata, "generation")
            return one if is_current or "generation" not in metadata else {}
    return {}
