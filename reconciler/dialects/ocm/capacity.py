"""How sets of ManifestWorks take room of clusters: what a set carries, on each of its clusters.

They are refused nothing, and a ManagedCluster tells no limit: what it reports as allocatable is
there whether it is used or not. But a cluster of the same name in another API is the same cluster.
"""

from dataclasses import dataclass

from reconciler.dialects.contract import Prepared
from reconciler.dialects.ocm.manifestworkreplicaset.lifecycle import standing_set
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP, KIND
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import decode_record
from reconciler.dialects.ocm.manifestworkreplicaset.set_reservations import carried_by
from reconciler.dialects.ocm.plan import Placements
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest, World
from reconciler.schedule.capacity.ledger import NOTHING_PLACED, Ledger, Order, Placed, order_of
from reconciler.schedule.capacity.reported_room import ReportedRoom

FIRST = order_of(0, ObjectKey(GROUP, "", "", ""))


@dataclass(frozen=True, slots=True)
class SetCapacity:
    """How the decisions of Open Cluster Management take room."""

    turn: Order = FIRST
    placing: frozenset[Kind] = frozenset({(GROUP, KIND)})

    def reported(self, _cluster: Body, /) -> ReportedRoom | None:
        """Return nothing: a ManagedCluster does not report what is left."""
        return None

    def holder(self, manifest: Manifest, /) -> ObjectKey:
        """Return the set itself."""
        return manifest.key

    def placed(self, world: World, holder: ObjectKey, /) -> Placed:
        """Return what a set carries to its clusters, by its present template.

        What an earlier template brought is not known any more.
        """
        wanted, known = world.inputs.get(holder), world.outputs.get(holder)
        if wanted is None or known is None:
            return NOTHING_PLACED
        demand = carried_by(standing_set(wanted), world.known.scopes)
        return dict.fromkeys((one.cluster for one in decode_record(known.body).works), demand)

    def within(self, prepared: Prepared, ledger: Ledger, /) -> Prepared:
        """Return the placements and sets as they add to a ledger."""
        return prepared.within(ledger) if isinstance(prepared, Placements) else prepared
