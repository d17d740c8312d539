"""A binding as rebalancers see it: whether it can be scheduled, how many replicas would move."""

from functools import partial

from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.api.cluster_reports import reports_of
from reconciler.dialects.karmada.decide import Surroundings
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.scheduler.batched_moves import (
    is_divisible,
    moves_afresh,
    moves_left,
    read_goal,
)
from reconciler.dialects.karmada.scheduler.reschedule_requests import is_considered
from reconciler.errors import UserError
from reconciler.rebalance.target import Target


def target_of(draft: Draft, around: Surroundings) -> Target:
    """Return a binding as a target.

    It waits where nothing would schedule it: it is suspended, without a policy, or cannot be read.
    """
    if not is_considered(draft):
        return Target(draft.key, waiting=True)
    try:
        binding = decode_binding(
            {"metadata": draft.metadata, "spec": draft.spec, "status": draft.status}
        )
    except UserError:
        return Target(draft.key, waiting=True)
    triggered, now = binding.reschedule_triggered_at, around.now
    goal = read_goal(draft.metadata)
    return Target(
        draft.key,
        # One in the future is a person's, and does not outlive this pass.
        triggered_at=triggered if triggered is not None and triggered <= now else None,
        divisible=is_divisible(binding),
        moves=partial(moves_afresh, binding, around.members, now),
        left=partial(moves_left, binding, goal, around.members, now),
        arrived=_has_arrived(draft, binding, around),
    )


def _has_arrived(draft: Draft, binding: Binding, around: Surroundings) -> bool:
    """Return whether every cluster reports all replicas that a binding gives it, and healthy."""
    reports = reports_of(draft.spec, around.copies)
    return all(reports.covers(name, count) for name, count in binding.clusters)
