"""The stages that a placement passes in each cluster, and upstream's words for each.

A stage is told only if all before it are True; the first that is Unknown or False ends the list.

Source: kubefleet@e160c1c pkg/utils/condition/condition.go and reason.go.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.names import AVAILABLE, DIFF_REPORTED
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.model.body import Body
from reconciler.model.conditions import Condition
from reconciler.model.enumeration import enumerated

OVERRIDDEN = "Overridden"
SYNCHRONIZED = "WorkSynchronized"
APPLIED = "Applied"
REPORT_DIFF = "ReportDiff"

NO_OVERRIDE = ("NoOverrideSpecified", "No override rules are configured for the selected resources")
SYNCED = ("AllWorkSynced", "All of the works are synchronized to the latest")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Reason and text of one stage: for one cluster, and for the placement, by status."""

    cluster: tuple[str, str]
    unknown: tuple[str, str]
    false: tuple[str, str]
    true: tuple[str, str]


_FAILED = "Failed to apply resources to {} cluster(s), please check the `failedPlacements` status"
_FITTING = "The selected resources are successfully overridden in {} cluster(s)"
_STILL = "There are still {} cluster(s) in the process of "
_WORDS = {
    ROLLOUT_STARTED: _Words(
        cluster=(
            "RolloutStartedUnknown",
            "In the process of deciding whether to roll out the latest resources or not",
        ),
        unknown=(
            "RolloutStartedUnknown",
            _STILL + "deciding whether to roll out the latest resources or not",
        ),
        false=(
            "RolloutNotStartedYet",
            "The rollout is being blocked by the rollout strategy in {} cluster(s)",
        ),
        true=("RolloutStarted", "All {} cluster(s) start rolling out the latest resource"),
    ),
    OVERRIDDEN: _Words(
        cluster=(
            "OverriddenPending",
            "In the process of overriding the selected resources if there is any override defined",
        ),
        unknown=(
            "OverriddenPending",
            _STILL + "overriding the selected resources if there is any override defined",
        ),
        false=("OverriddenFailed", "Failed to override resources in {} cluster(s)"),
        true=NO_OVERRIDE,
    ),
    SYNCHRONIZED: _Words(
        cluster=(
            "WorkSynchronizedUnknown",
            "In the process of creating or updating the work object(s) in the hub cluster",
        ),
        unknown=(
            "WorkSynchronizedUnknown",
            _STILL + "creating or updating the work object(s) in the hub cluster",
        ),
        false=(
            "WorkNotSynchronizedYet",
            "There are {} cluster(s) which have not finished creating or updating work(s) yet",
        ),
        true=(
            "WorkSynchronized",
            "Work(s) are successfully created or updated in {} target cluster(s)' namespaces",
        ),
    ),
    APPLIED: _Words(
        cluster=(
            "ApplyPending",
            "In the process of applying the resources on the member cluster",
        ),
        unknown=("ApplyPending", _STILL + "applying the resources on the member cluster"),
        false=(
            "ApplyFailed",
            _FAILED,
        ),
        true=(
            "ApplySucceeded",
            "The selected resources are successfully applied to {} cluster(s)",
        ),
    ),
    AVAILABLE: _Words(
        cluster=(
            "ResourceAvailableUnknown",
            "The availability of the selected resources is unknown yet ",
        ),
        unknown=(
            "ResourceAvailableUnknown",
            _STILL + "checking the availability of the selected resources",
        ),
        false=(
            "ResourceNotAvailableYet",
            "The selected resources in {} cluster(s) are still not available yet",
        ),
        true=(
            "ResourceAvailable",
            "The selected resources in {} cluster(s) are available now",
        ),
    ),
    DIFF_REPORTED: _Words(
        cluster=(
            "DiffReportingPending",
            "Diff reporting has just started; its status is not yet to be known",
        ),
        unknown=(
            "DiffReportingPending",
            _STILL + "checking for configuration differences",
        ),
        false=(
            "DiffReportingIncompleteOrFailed",
            "Diff reporting in {} clusters is still in progress or has failed",
        ),
        true=(
            "DiffReportingCompleted",
            "Diff reporting in {} cluster(s) has been completed",
        ),
    ),
}
STAGES = tuple(_WORDS)
NO_ROOM = "; it waits for room: "
MOST_NAMED = 3


def reported(apply_strategy: Body | None) -> tuple[str, ...]:
    """Return what a cluster reports of resources that are applied in this way.

    >>> reported(None), reported({"type": "ReportDiff"})
    (('Applied', 'Available'), ('DiffReported',))
    """
    differs = apply_strategy is not None and apply_strategy.get("type") == REPORT_DIFF
    return (DIFF_REPORTED,) if differs else (APPLIED, AVAILABLE)


def stages_of(apply_strategy: Body | None) -> tuple[str, ...]:
    """Return the stages in order.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `determineExpectedPlacementAndResourcePlacementStatusCondType`.
    """
    return (ROLLOUT_STARTED, OVERRIDDEN, SYNCHRONIZED, *reported(apply_strategy))


def unknown_in_cluster(stage: str, generation: int) -> Condition:
    """Return the condition of a cluster that did not tell yet."""
    reason, text = _WORDS[stage].cluster
    return Condition(stage, "Unknown", reason, text, generation)


def overall_conditions(
    kind: str,
    stages: Iterable[str],
    generation: int,
    reached: Sequence[Mapping[str, str]],
    *,
    overridden: bool,
    lacking: Mapping[str, str] | None = None,
) -> Iterator[Condition]:
    """Yield one condition a stage of a placement, as far as all clusters got; none without one.

    Args:
        kind: Of the placement.
        stages: In order.
        generation: Of the placement.
        reached: The stages of each cluster with their status.
        overridden: Whether overrides are in force in any of them.
        lacking: The clusters that are not updated for lack of room, with what they lack.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setPlacementConditions`.
    """
    for stage in stages if reached else ():
        statuses = [known[stage] for known in reached if stage in known]
        worst = next((s for s in ("Unknown", "False") if s in statuses), "True")
        found = _of_placement(kind, stage, worst, statuses.count(worst), generation)
        if overridden and (stage, worst) == (OVERRIDDEN, "True"):
            text = _FITTING.format(len(statuses))
            found = found._replace(reason="OverriddenSucceeded", message=text)
        if lacking and (stage, worst) == (ROLLOUT_STARTED, "False"):
            # Unlike upstream: room is not protected there, so nothing waits for it.
            found = found._replace(message=f"{found.message}{waits_for_room(lacking)}")
        yield found
        if worst != "True":
            return


def waits_for_room(lacking: Mapping[str, str]) -> str:
    """Return that clusters are not updated for lack of room, to follow the words of a condition."""
    return NO_ROOM + enumerated((f"{name} {why}" for name, why in lacking.items()), MOST_NAMED)


def _of_placement(kind: str, stage: str, status: str, count: int, generation: int) -> Condition:
    """Return the condition of a placement of whose clusters so many are in this status.

    Its type begins with the kind of the placement.
    """
    words = _WORDS[stage]
    told = {"Unknown": words.unknown, "False": words.false}.get(status, words.true)
    return Condition(f"{kind}{stage}", status, told[0], told[1].format(count), generation)
