"""Status conditions: a list keyed by type, whose moment moves only with its status."""

from collections.abc import Sequence
from typing import NamedTuple

from reconciler.model.body import Body


class Condition(NamedTuple):
    """A statement about an object. `observed_generation` of `None` leaves the field out."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int | None = None


def set_condition(conditions: Sequence[Body], condition: Condition, *, at: str) -> list[Body]:
    """Return the conditions with one of them set; the others and their order stay.

    Args:
        conditions: The present conditions, as they stand in the manifest.
        condition: What now holds.
        at: Text of the present moment, a `Stamp` where it alone must not cause a write. It becomes
            the lastTransitionTime if the status is new or differs from the present one.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/meta/conditions.go
    `SetStatusCondition`.
    """
    fresh: dict[str, object] = {
        "type": condition.type,
        "status": condition.status,
        "lastTransitionTime": at,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.observed_generation is not None:
        fresh["observedGeneration"] = condition.observed_generation
    result = list(conditions)
    for position, present in enumerate(result):
        if present.get("type") != condition.type:
            continue
        if present.get("status") == condition.status and present.get("lastTransitionTime"):
            fresh["lastTransitionTime"] = present["lastTransitionTime"]
        result[position] = {**present, **fresh}
        return result
    return [*result, fresh]
