"""What becomes of one eviction: invalid, blocked, or a binding is deleted.

Source: kubefleet@e160c1c pkg/controllers/clusterresourceplacementeviction/controller.go
`Reconcile`, `validateEviction`, `executeEviction`, `isEvictionAllowed`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import BOUND, PREVIOUS_STATE, UNSCHEDULED
from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.api.policy import PICK_ALL, PICK_FIXED
from reconciler.dialects.kubefleet.api.strategy import share_of
from reconciler.dialects.kubefleet.rollout.readiness import can_be_ready, is_available
from reconciler.model.body import Body
from reconciler.model.conditions import Condition
from reconciler.model.fields import number, text

EVICTION, BUDGET = "ClusterResourcePlacementEviction", "ClusterResourcePlacementDisruptionBudget"
VALID, EXECUTED = "Valid", "Executed"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an eviction's status says then, and the binding that goes, `None` if none does."""

    conditions: tuple[Condition, ...]
    deleted: str | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """Whether an eviction is executed, why, and whether a binding goes by it."""

    executed: bool
    why: str
    deletes: bool = False


_MISSING = "Failed to find ClusterResourcePlacement targeted by eviction"
_LEAVING = "Found deleting ClusterResourcePlacement targeted by eviction"
_FIXED = "Found ClusterResourcePlacement with PickFixed placement type targeted by eviction"
_MANY = "Found more than one scheduler decision for placement in cluster targeted by eviction"
_NONE = "Failed to find scheduler decision for placement in cluster targeted by eviction"

_GOING = _Answer(
    executed=True,
    why="Eviction is allowed, resources propagated by placement is currently being removed from "
    "cluster targeted by eviction",
)
_UNPLACED = _Answer(
    executed=False,
    why="Eviction is blocked, placement has not propagated resources to target cluster yet",
)
_FAILED = _Answer(executed=True, why="Eviction is allowed, placement has failed", deletes=True)
_FREE = _Answer(executed=True, why=f"Eviction is allowed, no {BUDGET} specified", deletes=True)
_MISCONFIGURED = _Answer(
    executed=False,
    why=f"Eviction is blocked by misconfigured {BUDGET}, either MaxUnavailable is specified or "
    "MinAvailable is specified as a percentage for PickAll ClusterResourcePlacement",
)


def is_over(conditions: Sequence[Body], generation: int) -> bool:
    """Return whether an eviction was judged: it was invalid, or executed or not.

    One that was blocked is never tried again; a new one is needed.

    Args:
        conditions: Of its status.
        generation: The present one; another generation of what was invalid is judged anew.
    """
    by_type = {text(item, "type"): item for item in reversed(conditions)}
    valid = by_type.get(VALID, {})
    is_invalid = text(valid, "status") == "False"
    return EXECUTED in by_type or (is_invalid and number(valid, "observedGeneration") == generation)


def judge(
    spec: Body,
    generation: int,
    placement: Placement | None,
    bindings: Collection[Binding],
    budget: Body | None,
) -> Judgement:
    """Return what becomes of an eviction that was not judged yet.

    Args:
        spec: Of the eviction.
        generation: Of the eviction.
        placement: The one that it names, `None` if there is none.
        bindings: All of the placement, with what is known of their clusters.
        budget: Spec of the budget of the placement's name, `None` if there is none.
    """
    cluster = text(spec, "clusterName")
    found = [binding for binding in bindings if binding.target == cluster]
    problem = _problem(placement, found)
    if problem or placement is None:
        return Judgement((_condition(VALID, "False", "Invalid", problem, generation),))
    valid = _condition(VALID, "True", "Valid", "Eviction is valid", generation)
    (target,) = found
    answer = _answer(target, placement, bindings, budget)
    status, word = ("True", "Executed") if answer.executed else ("False", "NotExecuted")
    executed = _condition(EXECUTED, status, word, answer.why, generation)
    return Judgement((valid, executed), target.name if answer.deletes else None)


def _condition(kind: str, status: str, word: str, why: str, generation: int) -> Condition:
    return Condition(kind, status, f"{EVICTION}{word}", why, generation)


def _problem(placement: Placement | None, found: Sequence[Binding]) -> str:
    """Return why an eviction is invalid, `""` if it is not."""
    if placement is None:
        return _MISSING
    if placement.deleting:
        return _LEAVING
    if placement.policy.get("placementType") == PICK_FIXED:
        return _FIXED
    if len(found) > 1:
        return _MANY
    return "" if found else _NONE


def _answer(
    target: Binding, placement: Placement, bindings: Collection[Binding], budget: Body | None
) -> _Answer:
    """Return whether the binding of a valid eviction goes; what is first in doubt decides."""
    if target.deleting:
        return _GOING
    was_bound = target.annotations.get(PREVIOUS_STATE) == BOUND
    if target.state != BOUND and not (target.state == UNSCHEDULED and was_bound):
        return _UNPLACED
    if not can_be_ready(target):
        return _FAILED
    return _FREE if budget is None else _within(budget, placement, bindings)


def _within(budget: Body, placement: Placement, bindings: Collection[Binding]) -> _Answer:
    """Return whether a budget allows one binding less.

    Whether the one that goes is available plays no part, and clusters that are wanted and have no
    binding do not count as unavailable.
    """
    most, least = budget.get("maxUnavailable"), budget.get("minAvailable")
    picks_all = placement.policy.get("placementType") == PICK_ALL
    if picks_all and (most is not None or isinstance(least, str)):
        return _MISCONFIGURED
    desired, available = placement.wanted or 0, sum(map(is_available, bindings))
    allowed = 0
    if isinstance(most, int | str):
        allowed = share_of(most, desired) - (len(bindings) - available)
    elif isinstance(least, int | str):
        allowed = available - share_of(least, desired)
    word = "allowed" if allowed > 0 else "blocked"
    counts = f"availablePlacements: {available}, totalPlacements: {len(bindings)}"
    why = f"Eviction is {word} by specified {BUDGET}, {counts}"
    return _Answer(executed=allowed > 0, why=why, deletes=allowed > 0)
