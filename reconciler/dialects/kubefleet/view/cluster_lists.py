"""The lists that the entry of a cluster has: what is wrong there, and which overrides apply."""

from collections.abc import Sequence

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import AVAILABLE, DIFF_REPORTED
from reconciler.dialects.kubefleet.api.placement_status import (
    DIFFED,
    DRIFTED,
    FAILED,
    OVERRIDES,
)
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.dialects.kubefleet.view.status_conditions import APPLIED
from reconciler.model.body import Body
from reconciler.model.conditions import Condition


def told_problems(binding: Binding | None, told: Sequence[Condition]) -> Body:
    """Return the lists of a binding that its entry has.

    What failed and differs is told only until all is applied and available, what drifted always.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setResourcePlacementStatusBasedOnBinding`.
    """
    statuses = {condition.type: condition.status for condition in told}
    runs = [statuses[stage] for stage in (APPLIED, AVAILABLE) if stage in statuses]
    lists: set[str] = set()
    if "True" in runs or "False" in runs:
        lists.add(DRIFTED)
    if "False" in runs:
        lists |= {FAILED, DIFFED}
    if statuses.get(DIFF_REPORTED) == "True":
        lists.add(DIFFED)
    problems = {} if binding is None else binding.problems
    return {name: listed for name, listed in problems.items() if name in lists}


def applicable_overrides(binding: Binding | None, told: Sequence[Condition]) -> Body:
    """Return the overrides in force, as an entry lists them from when the rollout has started.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setResourcePlacementStatusBasedOnBinding`.
    """
    started = (ROLLOUT_STARTED, "True") in ((one.type, one.status) for one in told)
    found = binding.overrides if binding is not None and started else {}
    return {name: found[own] for name, own in OVERRIDES.items() if own in found}
