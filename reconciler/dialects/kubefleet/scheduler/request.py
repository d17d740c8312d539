"""What one scheduling cycle asks of the plugins."""

from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.policy import Policy
from reconciler.dialects.kubefleet.scheduler.protected_room import PlacementRoom
from reconciler.dialects.kubefleet.scheduler.topology import Topology
from reconciler.schedule.framework import NO_CLUSTERS, Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A policy and where its placement stands in this cycle.

    Attributes:
        policy: What is wanted.
        topology: How picking each cluster would change the spread.
        namespace: The placement's namespace, `""` for a cluster-scoped one.
        placed: Clusters with a scheduled or bound binding of the present policy.
        obsolete: Clusters with a binding of an earlier policy.
        room: What is free for it, `None` where no room is protected.
    """

    policy: Policy
    topology: Topology
    namespace: str = ""
    placed: Mask = NO_CLUSTERS
    obsolete: Mask = NO_CLUSTERS
    room: PlacementRoom | None = None
