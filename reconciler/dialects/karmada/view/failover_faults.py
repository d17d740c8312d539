"""Faults of workloads that stay on a failing cluster, since their state cannot be taken along."""

from collections.abc import Callable, Iterator

from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.application_failover import Failing
from reconciler.dialects.karmada.eviction.taint_manager import Eviction
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault

PathOf = Callable[[ObjectKey], str]


def unpreserved_faults(
    draft: Draft, path_of: PathOf, eviction: Eviction | None, failing: Failing
) -> Iterator[Fault]:
    """Yield a fault for each cluster that is not left, and one for the application's failover.

    Args:
        draft: The binding.
        path_of: Returns where its file stands.
        eviction: What taints make of it, `None` if no cluster of its has any.
        failing: Where it is unhealthy.
    """
    for decision in () if eviction is None else eviction.decisions:
        if decision.unpreserved:
            yield _fault(draft, path_of, "cluster", decision.unpreserved)
    if failing.unpreserved:
        yield _fault(draft, path_of, "application", failing.unpreserved)


def _fault(draft: Draft, path_of: PathOf, behavior: str, why: str) -> Fault:
    """Return the fault at the binding's file, which holds the rules of its policy."""
    field = f"/spec/failover/{behavior}/statePreservation"
    policy = "its policy" if draft.policy is None else str(draft.policy.key)
    return Fault(
        path=path_of(draft.key),
        line=0,
        column=0,
        field=field,
        rule="failover-state",
        message=f"{draft.subject} stays where it fails, or its state would be lost: {why}",
        expected=f"rules in {field} of {policy} that find label values in the status",
        subject=str(draft.key),
    )
