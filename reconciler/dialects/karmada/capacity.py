"""How bindings take room of clusters: replicas times what one of them asks for, in their order."""

from dataclasses import dataclass

from reconciler.dialects.contract import Prepared
from reconciler.dialects.karmada.plan import Bindings
from reconciler.dialects.karmada.scheduler.resource_summary import amount_of, decode_summary
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.fields import mapping, mapping_or_none
from reconciler.model.identity import ObjectKey
from reconciler.schedule.capacity.ledger import Ledger, Order, order_of
from reconciler.schedule.capacity.reported_room import ReportedRoom

FIRST = order_of(2**63, ObjectKey("", "", "", ""))
"""No binding has a greater priority."""


@dataclass(frozen=True, slots=True)
class BindingCapacity:
    """How the decisions of Karmada take room."""

    turn: Order = FIRST

    def reported(self, cluster: Body, /) -> ReportedRoom | None:
        """Return what a cluster's summary of resources leaves."""
        summary = mapping_or_none(mapping(cluster, "status"), "resourceSummary")
        if summary is None:
            return None
        rooms = decode_summary(summary).rooms
        free = {name: amount_of(name, units) for name, units in rooms.items()}
        return ReportedRoom(free, digest(summary))

    def within(self, prepared: Prepared, ledger: Ledger, /) -> Prepared:
        """Return the bindings as a ledger has them decided."""
        return prepared.within(ledger) if isinstance(prepared, Bindings) else prepared
