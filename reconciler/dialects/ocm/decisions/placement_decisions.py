"""All PlacementDecisions: who has been chosen so far, by this placement and by the others."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from reconciler.dialects.ocm.api.placement import Placement
from reconciler.dialects.ocm.api.placement_decision import DecisionObject
from reconciler.dialects.ocm.scheduler.request import OtherChoices
from reconciler.model.identity import ClusterName
from reconciler.model.selectors import MAX_NAME
from reconciler.schedule.columns import Numbers, column_of, greatest, less_one_each
from reconciler.schedule.fleet import Fleet


@dataclass(slots=True, eq=False)
class _FleetCounts:
    """How often each cluster of one fleet is chosen, and how often names of no cluster are."""

    fleet: Fleet
    column: Numbers
    strangers: Counter[ClusterName]

    def change(self, names: Iterable[ClusterName], by: int) -> None:
        """Count some clusters more or less often."""
        for name in names:
            position = self.fleet.position.get(name)
            if position is None:
                self.strangers[name] += by
            else:
                self.column[position] += by


@dataclass(slots=True, eq=False)
class DecisionsSoFar:
    """Every decision of the hub: by placement, and how often each cluster is chosen in all.

    It is changed in place: a placement sees those before it as they are now, those after it as they
    were.
    """

    _by_owner: dict[tuple[str, str], tuple[DecisionObject, ...]] = field(default_factory=dict)
    _appearances: Counter[ClusterName] = field(default_factory=Counter)
    _counts: _FleetCounts | None = None

    def own(self, placement: Placement) -> tuple[DecisionObject, ...]:
        """Return the decisions of a placement; a name too long for a label finds none."""
        if len(placement.name) > MAX_NAME:
            return ()
        return self._by_owner.get((placement.namespace, placement.name), ())

    def of_others(self, placement: Placement, fleet: Fleet) -> OtherChoices:
        """Return how often each cluster is chosen by anyone but the placement."""
        counts = self._counts_in(fleet)
        mine = _named(self._by_owner.get((placement.namespace, placement.name), ()))
        found = [*map(fleet.position.get, mine)]
        column = less_one_each(counts.column, [one for one in found if one is not None])
        most = greatest(column)
        if counts.strangers:
            strangers = counts.strangers.copy()
            strangers.subtract(name for name in mine if name not in fleet.position)
            most = max(most, *strangers.values())
        return OtherChoices(column, most)

    def put(self, owner: tuple[str, str], objects: tuple[DecisionObject, ...]) -> bool:
        """Put decisions in place of those that a placement had; return whether they are others."""
        before = self._by_owner.pop(owner, ())
        if objects:
            self._by_owner[owner] = objects
        for names, by in ((_named(objects), 1), (_named(before), -1)):
            for name in names:
                self._appearances[name] += by
                if not self._appearances[name]:
                    del self._appearances[name]
            if self._counts is not None:
                self._counts.change(names, by)
        return objects != before

    def _counts_in(self, fleet: Fleet) -> _FleetCounts:
        """Return the counts in a fleet; counted anew if it is another one than before."""
        counts = self._counts
        if counts is None or counts.fleet is not fleet:
            chosen = self._appearances
            found = [chosen.get(name, 0) for name in fleet.names]
            strangers = Counter[ClusterName]()
            if sum(map(bool, found)) < len(chosen):
                strangers.update({n: chosen[n] for n in chosen.keys() - fleet.position})
            counts = self._counts = _FleetCounts(fleet, column_of(found), strangers)
        return counts


def _named(decisions: Iterable[DecisionObject]) -> list[ClusterName]:
    """Return the clusters of some decisions, as often as they stand there."""
    return [name for decision in decisions for name in decision.clusters]


def decided_by(decisions: Iterable[DecisionObject]) -> DecisionsSoFar:
    """Index decisions, in whatever order they come; one without a placement counts, too."""
    by_owner: dict[tuple[str, str] | None, list[DecisionObject]] = defaultdict(list)
    for decision in decisions:
        by_owner[decision.owner].append(decision)
    found = DecisionsSoFar(_appearances=Counter(_named(by_owner.pop(None, ()))))
    for owner, objects in by_owner.items():
        if owner is not None:
            found.put(owner, tuple(objects))
    return found
