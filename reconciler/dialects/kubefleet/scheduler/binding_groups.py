"""Bindings of a placement by what the scheduler has to do with them."""

from collections.abc import Iterable
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.names import BOUND, SCHEDULED, UNSCHEDULED
from reconciler.schedule.framework import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The bindings of one placement, each group ascending by name.

    Attributes:
        deleting: Being deleted.
        unscheduled: Marked for removal, of whichever policy.
        dangling: Their cluster is gone or leaving.
        obsolete: Decided by an earlier policy.
        scheduled: Picked by the present policy, not yet rolled out.
        bound: Picked by the present policy and rolled out.
    """

    deleting: tuple[Binding, ...]
    unscheduled: tuple[Binding, ...]
    dangling: tuple[Binding, ...]
    obsolete: tuple[Binding, ...]
    scheduled: tuple[Binding, ...]
    bound: tuple[Binding, ...]

    @property
    def present(self) -> int:
        """How many clusters the present policy has; obsolete ones do not count."""
        return len(self.scheduled) + len(self.bound)


def classify(bindings: Iterable[Binding], snapshot: str, members: Members) -> Groups:
    """Sort bindings into groups; the first that fits wins, an unknown state fits none.

    Args:
        bindings: Ascending by name.
        snapshot: Name of the present policy snapshot.
        members: Everyone.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `classifyBindings`.
    """
    fleet = members.fleet
    found: dict[str, list[Binding]] = {name: [] for name in Groups.__dataclass_fields__}
    for binding in bindings:
        position = fleet.position.get(binding.target)
        if binding.deleting:
            group = "deleting"
        elif binding.state == UNSCHEDULED:
            group = "unscheduled"
        elif position is None or fleet.clusters[position].deleting:
            group = "dangling"
        elif binding.policy_snapshot != snapshot:
            group = "obsolete"
        elif binding.state == SCHEDULED:
            group = "scheduled"
        elif binding.state == BOUND:
            group = "bound"
        else:
            continue
        found[group].append(binding)
    return Groups(**{name: tuple(group) for name, group in found.items()})


def targets_of(members: Members, *groups: Iterable[Binding]) -> Mask:
    """Return the clusters of the bindings."""
    return members.fleet.named(binding.target for group in groups for binding in group)
