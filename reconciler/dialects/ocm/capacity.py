"""How sets of ManifestWorks take room of clusters: what a set carries, on each of its clusters.

They are refused nothing, and a ManagedCluster tells no limit: what it reports as allocatable is
there whether it is used or not. But a cluster of the same name in another API is the same cluster.
"""

from dataclasses import dataclass

from reconciler.dialects.contract import Prepared
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP
from reconciler.dialects.ocm.plan import Placements
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.schedule.capacity.ledger import Ledger, Order, order_of
from reconciler.schedule.capacity.reported_room import ReportedRoom

FIRST = order_of(0, ObjectKey(GROUP, "", "", ""))


@dataclass(frozen=True, slots=True)
class SetCapacity:
    """How the decisions of Open Cluster Management take room."""

    turn: Order = FIRST

    def reported(self, _cluster: Body, /) -> ReportedRoom | None:
        """Return nothing: a ManagedCluster does not report what is left."""
        return None

    def within(self, prepared: Prepared, ledger: Ledger, /) -> Prepared:
        """Return the placements and sets as they add to a ledger."""
        return prepared.within(ledger) if isinstance(prepared, Placements) else prepared
