"""What is placed on each cluster by the decisions of all APIs, followed from one world to the next.

Each API says which documents tell what an object has where (`CapacityRules`); what of them differs
since the last round is counted anew, and the rest stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from reconciler.dialects.contract import CapacityRules, Dialect
from reconciler.dialects.followed_index import Followed
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.resources import Resources
from reconciler.model.world import Manifest, World
from reconciler.schedule.capacity.ledger import NOTHING_PLACED, Placed
from reconciler.schedule.capacity.reservation import beyond, plus


@dataclass(slots=True, eq=False)
class PlacedTotals:
    """What is placed by the world that was followed last; it only saves work.

    Attributes:
        standing: What each object has on its clusters.
        totals: Cluster to what all of them have there, where they have anything.
    """

    standing: dict[ObjectKey, Placed] = field(default_factory=dict)
    totals: dict[str, Resources] = field(default_factory=dict)
    _outputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)

    def follow(self, world: World, dialects: Sequence[Dialect]) -> "PlacedTotals":
        """Go on to another world; return the same table."""
        rules = {
            kind: found
            for dialect in dialects
            if (found := dialect.capacity()) is not None
            for kind in found.placing
        }
        holders: dict[ObjectKey, CapacityRules] = {}
        for followed, now in ((self._outputs, world.outputs), (self._inputs, world.inputs)):
            for _, before, after in followed.follow(now):
                for one in (before, after):
                    if one is not None and one.key[:2] in rules:
                        found = rules[one.key[:2]]
                        holders[found.holder(one)] = found
        for holder, found in holders.items():
            self._count(holder, _placed(found, world, holder))
        return self

    def _count(self, holder: ObjectKey, now: Placed) -> None:
        before = self.standing.pop(holder, NOTHING_PLACED)
        for cluster, demand in before.items():
            left = beyond(self.totals[cluster], demand.resources)
            if left:
                self.totals[cluster] = left
            else:
                del self.totals[cluster]
        for cluster, demand in now.items():
            if demand.resources:
                self.totals[cluster] = plus(self.totals.get(cluster, {}), demand.resources)
        kept = {cluster: demand for cluster, demand in now.items() if demand.resources}
        if kept:
            self.standing[holder] = kept


def _placed(rules: CapacityRules, world: World, holder: ObjectKey) -> Placed:
    """Return what an object has on its clusters, nothing where that cannot be read."""
    try:
        return rules.placed(world, holder)
    except UserError:
        return NOTHING_PLACED
