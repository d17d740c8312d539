"""How placements take room of clusters: each cluster has all the pods that they select."""

from dataclasses import dataclass

from reconciler.dialects.contract import Prepared
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.fleets import Fleets
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.resources import readable_resources
from reconciler.schedule.capacity.ledger import Ledger, Order, order_of
from reconciler.schedule.capacity.reported_room import ReportedRoom

FIRST = order_of(0, ObjectKey(GROUP, "", "", ""))
AMOUNTS = ("allocatable", "available", "capacity")


@dataclass(frozen=True, slots=True)
class PlacementCapacity:
    """How the decisions of KubeFleet take room."""

    turn: Order = FIRST

    def reported(self, cluster: Body, /) -> ReportedRoom | None:
        """Return what a member reports as available; when it observed that is no part of it."""
        usage = mapping(mapping(cluster, "status"), "resourceUsage")
        free = readable_resources(mapping(usage, "available"))
        if free is None:
            return None
        return ReportedRoom(free, digest([mapping(usage, name) for name in AMOUNTS]))

    def within(self, prepared: Prepared, ledger: Ledger, /) -> Prepared:
        """Return the placements as a ledger has them decided."""
        return prepared.within(ledger) if isinstance(prepared, Fleets) else prepared
