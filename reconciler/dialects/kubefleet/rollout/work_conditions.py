"""What the Works of a cluster say of its binding, as upstream's work generator draws it from them.

Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `setBindingStatus`,
`setAllWorkAppliedCondition`, `setAllWorkAvailableCondition`, `setAllWorkDiffReportedCondition`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import AVAILABLE, DIFF_REPORTED
from reconciler.dialects.kubefleet.rollout.readiness import UNTRACKABLE
from reconciler.dialects.kubefleet.rollout.work_answers import answers_to, of_another_snapshot
from reconciler.dialects.kubefleet.view.status_conditions import (
    APPLIED,
    reported,
)
from reconciler.model.body import Body
from reconciler.model.conditions import Condition


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
    if of_another_snapshot(works, binding):
        words = _WORDS[stages[0]]
        texts = words.pending, words.pending_text
        yield Condition(stages[0], "False", *texts, binding.generation)
        return
    for stage in stages:
        condition = _condition(stage, works, binding.generation)
        yield condition
        if condition.status != "True":
            return


def _condition(stage: str, works: Sequence[Body], generation: int) -> Condition:
    """Return the condition of one stage: what is unfinished comes before what failed."""
    words, found = _WORDS[stage], answers_to(stage, works)
    untracked = [name for name, reason in found.reasons.items() if reason in UNTRACKABLE]
    for names, told in ((found.unfinished, words.unfinished), (found.failed, words.failed)):
        if names:
            return Condition(stage, "False", words.no, told.format(names[0]), generation)
    if stage == AVAILABLE and untracked:
        told = f"The availability of work object {untracked[0]} is not trackable"
        return Condition(stage, "True", NOT_TRACKABLE, told, generation)
    return Condition(stage, "True", words.yes, words.done, generation)
