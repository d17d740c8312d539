"""What a binding waits for: tolerated taints, tolerated health, evictions that have not ended."""

from collections.abc import Iterator
from datetime import datetime

from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.application_failover import Failing
from reconciler.dialects.karmada.eviction.taint_manager import Eviction, Leaving
from reconciler.dialects.karmada.taints.by_condition import NOT_READY, UNREACHABLE
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName
from reconciler.model.wait import Wait

TROUBLES = {
    NOT_READY: "is not ready and tolerated",
    UNREACHABLE: "cannot be reached and is tolerated",
}


def waits_of(
    draft: Draft,
    after: Placed,
    eviction: Eviction | None,
    failing: Failing,
    evicting: tuple[tuple[EvictionTask, datetime], ...],
) -> tuple[Wait, ...]:
    """Return what a binding waits for after a round.

    Args:
        draft: The binding.
        after: Where it is now.
        eviction: What taints make of it, `None` if no cluster of its has any.
        failing: Where it is unhealthy.
        evicting: Its evictions, each with the moment that ends it at the latest.
    """
    found = [*_tolerated(after, eviction), *_unhealthy(after, failing)]
    found += [(until, *_evicting(task)) for task, until in evicting]
    return tuple(
        Wait(until=until, key=draft.key, subject=draft.subject, reason=reason, then=then)
        for until, reason, then in found
    )


def _evicting(task: EvictionTask) -> tuple[str, str]:
    """Return what an eviction does until its time is over, and what happens then."""
    name = task.from_cluster
    if task.directly:
        return f"it is kept off {name}", f"it may come back to {name}"
    return f"{name} keeps its copy while others take over", f"the copy on {name} is removed"


def _tolerated(after: Placed, eviction: Eviction | None) -> Iterator[tuple[datetime, str, str]]:
    """Yield the clusters with taints that are tolerated for a while."""
    for decision in () if eviction is None else eviction.decisions:
        if decision.until is not None:
            reason = f"{decision.cluster} {_trouble(decision)}"
            yield decision.until, reason, _leaves(after, decision.cluster)


def _trouble(decision: Leaving) -> str:
    """Return what is wrong with a cluster by its taints."""
    others = (f"has the taint {taint} and is tolerated" for taint in decision.tolerated)
    told = (TROUBLES.get(t.key, other) for t, other in zip(decision.tolerated, others, strict=True))
    return ", ".join(dict.fromkeys(told))


def _unhealthy(after: Placed, failing: Failing) -> Iterator[tuple[datetime, str, str]]:
    """Yield the clusters that report the workload unhealthy, and are not left yet."""
    for name, until in failing.pending:
        yield until, f"it is unhealthy on {name} and tolerated there", _leaves(after, name)


def _leaves(after: Placed, cluster: ClusterName) -> str:
    """Return that an object leaves a cluster, with its replicas if it has any there."""
    count = dict(after).get(cluster, 0)
    if not count:
        return f"it leaves {cluster}"
    return f"{count} replica{'s leave' if count > 1 else ' leaves'} {cluster}"
