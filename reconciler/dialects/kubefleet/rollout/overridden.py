"""What overrides make of a placement's resources on a cluster, and what a binding says of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.view.status_conditions import (
    NO_OVERRIDE,
    OVERRIDDEN,
    SYNCED,
    SYNCHRONIZED,
)
from reconciler.model.body import Body
from reconciler.model.conditions import Condition

FAILED = "OverriddenFailed"
SUCCEEDED = ("OverriddenSucceeded", "Successfully applied the override rules on the resources")


@dataclass(frozen=True, slots=True)
class OverriddenResources:
    """What overrides make of the resources of a binding.

    Attributes:
        lists: Which are in force, as a binding's spec lists them; empty without any.
        failure: Why one of them does not fit, `""` if all do; nothing is delivered then.
    """

    lists: Body
    failure: str = ""


NOT_OVERRIDDEN = OverriddenResources({})
Overriding = Callable[[Binding, Sequence[Body]], OverriddenResources]
"""Returns what overrides make of a binding's resources, given its placement's snapshots."""


def nothing_overridden(_binding: Binding, _snapshots: Sequence[Body]) -> OverriddenResources:
    """Return that there is no override."""
    return NOT_OVERRIDDEN


def prepared_conditions(found: OverriddenResources, generation: int) -> Iterator[Condition]:
    """Yield what a binding says until its cluster is asked: overridden, then synchronized.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `Reconcile`.
    """
    if found.failure:
        yield Condition(OVERRIDDEN, "False", FAILED, found.failure, generation)
        return
    words = SUCCEEDED if found.lists else NO_OVERRIDE
    yield Condition(OVERRIDDEN, "True", *words, generation)
    yield Condition(SYNCHRONIZED, "True", *SYNCED, generation)
