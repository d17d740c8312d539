"""When a binding is scheduled: the first rule that holds decides."""

from enum import StrEnum

from reconciler.dialects.karmada.api.applied_placement import placement_changed
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import DIVIDED


class ScheduleReason(StrEnum):
    """Why a binding is scheduled, or why it is not (`deleting`, `none`)."""

    DELETING = "deleting"
    PLACEMENT_CHANGED = "placementChanged"
    REPLICAS_CHANGED = "replicasChanged"
    RESCHEDULE_TRIGGERED = "rescheduleTriggered"
    DUPLICATED_OR_NON_WORKLOAD = "duplicatedOrNonWorkload"
    TERMINATING_TARGET_CLUSTER = "terminatingTargetCluster"
    NONE = "none"


def find_trigger(binding: Binding, members: Members) -> ScheduleReason:
    """Return the first rule that makes the scheduler act on a binding that came up.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `doScheduleBinding`.
    """
    placement = binding.placement
    if binding.deleting:
        return ScheduleReason.DELETING
    if placement is None:
        return ScheduleReason.NONE
    if placement_changed(placement, binding.applied, observed_affinity=binding.observed_affinity):
        return ScheduleReason.PLACEMENT_CHANGED
    if replicas_changed(binding):
        return ScheduleReason.REPLICAS_CHANGED
    if binding.reschedule_required:
        return ScheduleReason.RESCHEDULE_TRIGGERED
    if not binding.is_workload or placement.duplicated:
        return ScheduleReason.DUPLICATED_OR_NON_WORKLOAD
    deleting = members.fleet.deleting
    if deleting and deleting & members.fleet.named(name for name, _ in binding.clusters):
        return ScheduleReason.TERMINATING_TARGET_CLUSTER
    return ScheduleReason.NONE


def replicas_changed(binding: Binding) -> bool:
    """Return whether the present result does not add up to the replicas wanted.

    Source: karmada@f8fdd02 pkg/util/binding.go `IsBindingReplicasChanged`; targets whose cluster no
    longer exists still count.
    """
    scheduling = None if binding.placement is None else binding.placement.replica_scheduling
    if scheduling is None:
        return False
    if scheduling.type == DIVIDED:
        return sum([replicas for _, replicas in binding.clusters]) != binding.replicas
    if binding.placement is not None and binding.placement.duplicated:
        return any(replicas != binding.replicas for _, replicas in binding.clusters)
    return False
