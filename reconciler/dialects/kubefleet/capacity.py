"""How placements take room of clusters: each cluster has all the pods that they select."""

from dataclasses import dataclass

from reconciler.dialects.contract import Prepared
from reconciler.dialects.kubefleet.api.kinds import BINDINGS, RESOURCE_SNAPSHOTS
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.fleets import Fleets
from reconciler.dialects.kubefleet.reservations import placed_by
from reconciler.dialects.kubefleet.workgenerator.placement_files import parent_of
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.quantity import Quantity
from reconciler.model.resources import readable_resources
from reconciler.model.world import Manifest, World
from reconciler.schedule.capacity.ledger import Ledger, Order, Placed, order_of
from reconciler.schedule.capacity.reported_room import ReportedRoom

PLACING: frozenset[Kind] = frozenset((GROUP, kind) for kind in BINDINGS | RESOURCE_SNAPSHOTS)
FIRST = order_of(0, ObjectKey(GROUP, "", "", ""))
AMOUNTS = ("allocatable", "available", "capacity")


@dataclass(frozen=True, slots=True)
class PlacementCapacity:
    """How the decisions of KubeFleet take room."""

    turn: Order = FIRST
    placing: frozenset[Kind] = PLACING

    def reported(self, cluster: Body, /) -> ReportedRoom | None:
        """Return what a member reports as available; when it observed that is no part of it."""
        usage = mapping(mapping(cluster, "status"), "resourceUsage")
        free = readable_resources(mapping(usage, "available"))
        if free is None:
            return None
        whole = readable_resources(mapping(usage, "allocatable")) or {}
        used = {name: Quantity(whole[name] - free[name]) for name in free if name in whole}
        return ReportedRoom(free, used, digest([mapping(usage, name) for name in AMOUNTS]))

    def holder(self, manifest: Manifest, /) -> ObjectKey:
        """Return the placement that a binding or a snapshot belongs to."""
        return parent_of(manifest)

    def placed(self, world: World, holder: ObjectKey, /) -> Placed:
        """Return what the bindings of a placement bring to their clusters."""
        return placed_by(world, holder)

    def within(self, prepared: Prepared, ledger: Ledger, /) -> Prepared:
        """Return the placements as a ledger has them decided."""
        return prepared.within(ledger) if isinstance(prepared, Fleets) else prepared
