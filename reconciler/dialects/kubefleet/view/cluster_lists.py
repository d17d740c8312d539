"""The lists that a placement's status has: what it selects, what is wrong on which cluster."""

from collections.abc import Iterable, Sequence

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import AVAILABLE, DIFF_REPORTED
from reconciler.dialects.kubefleet.api.placement_status import (
    DIFFED,
    DRIFTED,
    FAILED,
    OVERRIDES,
)
from reconciler.dialects.kubefleet.api.resource_snapshot import SnapshotEntry, decode_resources
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED
from reconciler.dialects.kubefleet.view.status_conditions import APPLIED
from reconciler.dialects.kubefleet.workgenerator.snapshot_group import index_of, subindex_of
from reconciler.model import fields
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


def selected_resources(snapshots: Iterable[Body], index: str) -> list[Body]:
    """Return what the resource snapshots of an index hold, as a placement's status lists it.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `ResourceIdentifier`.
    """
    group = [body for body in snapshots if index_of(body) == index]
    ordered = sorted(group, key=lambda body: int(subindex_of(body) or "-1"))
    return [_identity(entry) for body in ordered for entry in decode_resources(body)]


def _identity(entry: SnapshotEntry) -> Body:
    version = fields.text(entry.body, "apiVersion").rpartition("/")[2]
    key = entry.key
    return {
        **({"group": key.group} if key.group else {}),
        "version": version,
        "kind": key.kind,
        "name": key.name,
        **({"namespace": key.namespace} if key.namespace else {}),
    }
