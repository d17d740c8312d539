"""How bindings take room of clusters: replicas times what one of them asks for, in their order."""

from dataclasses import dataclass

from reconciler.dialects.contract import Prepared
from reconciler.dialects.karmada.api.groups import WORK_GROUP
from reconciler.dialects.karmada.api.work.binding_spec import decode_requests, decode_resource
from reconciler.dialects.karmada.plan import Bindings
from reconciler.dialects.karmada.reservations import demands_of
from reconciler.dialects.karmada.scheduler.resource_summary import (
    amount_of,
    decode_summary,
    used_in,
)
from reconciler.dialects.karmada.view.placed import clusters_in
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.fields import mapping, mapping_or_none
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest, World
from reconciler.projection.project import projected_from
from reconciler.schedule.capacity.ledger import NOTHING_PLACED, Ledger, Order, Placed, order_of
from reconciler.schedule.capacity.reported_room import ReportedRoom

PLACING: frozenset[Kind] = frozenset(
    {(WORK_GROUP, "ClusterResourceBinding"), (WORK_GROUP, "ResourceBinding")}
)
FIRST = order_of(2**63, ObjectKey("", "", "", ""))
"""No binding has a greater priority."""


@dataclass(frozen=True, slots=True)
class BindingCapacity:
    """How the decisions of Karmada take room."""

    turn: Order = FIRST
    placing: frozenset[Kind] = PLACING

    def reported(self, cluster: Body, /) -> ReportedRoom | None:
        """Return what a cluster's summary of resources leaves."""
        summary = mapping_or_none(mapping(cluster, "status"), "resourceSummary")
        if summary is None:
            return None
        projected = bool(projected_from(cluster))
        rooms = decode_summary(summary, projected=projected).rooms
        free = {name: amount_of(name, units) for name, units in rooms.items()}
        return ReportedRoom(free, used_in(summary), digest(summary))

    def holder(self, manifest: Manifest, /) -> ObjectKey:
        """Return the binding itself."""
        return manifest.key

    def placed(self, world: World, holder: ObjectKey, /) -> Placed:
        """Return what a binding has on its clusters."""
        found = world.outputs.get(holder)
        if found is None:
            return NOTHING_PLACED
        body = found.body
        return demands_of(decode_resource(body).key, clusters_in(body), decode_requests(body))

    def within(self, prepared: Prepared, ledger: Ledger, /) -> Prepared:
        """Return the bindings as a ledger has them decided."""
        return prepared.within(ledger) if isinstance(prepared, Bindings) else prepared
