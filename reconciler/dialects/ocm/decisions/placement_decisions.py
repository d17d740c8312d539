"""All PlacementDecisions: who has been chosen so far, by this placement and by the others."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.ocm.api.placement import Placement
from reconciler.dialects.ocm.api.placement_decision import DecisionObject
from reconciler.model.identity import ClusterName
from reconciler.model.selectors import MAX_NAME


@dataclass(slots=True, eq=False)
class DecisionsSoFar:
    """Every decision of the hub: by placement, and how often each cluster is chosen in all.

    It is changed in place: a placement sees those before it as they are now, those after it as they
    were.
    """

    _by_owner: dict[tuple[str, str], tuple[DecisionObject, ...]] = field(default_factory=dict)
    _appearances: Counter[ClusterName] = field(default_factory=Counter)

    def own(self, placement: Placement) -> tuple[DecisionObject, ...]:
        """Return the decisions of a placement; a name too long for a label finds none."""
        if len(placement.name) > MAX_NAME:
            return ()
        return self._by_owner.get((placement.namespace, placement.name), ())

    def of_others(self, placement: Placement) -> Mapping[ClusterName, int]:
        """Return how often each cluster is chosen by anyone but the placement."""
        others = self._appearances.copy()
        mine = self._by_owner.get((placement.namespace, placement.name), ())
        _take_from(others, _count(mine))
        return others

    def put(self, owner: tuple[str, str], objects: tuple[DecisionObject, ...]) -> bool:
        """Put decisions in place of those that a placement had; return whether they are others."""
        before = self._by_owner.pop(owner, ())
        if objects:
            self._by_owner[owner] = objects
        self._appearances.update(_count(objects))
        _take_from(self._appearances, _count(before))
        return objects != before


def _take_from(counted: Counter[ClusterName], less: Mapping[ClusterName, int]) -> None:
    """Count some clusters less often; one that nobody chooses has no count."""
    for name, count in less.items():
        counted[name] -= count
        if not counted[name]:
            del counted[name]


def _count(decisions: Iterable[DecisionObject]) -> Counter[ClusterName]:
    """Return how often each cluster is in the decisions."""
    return Counter(name for decision in decisions for name in decision.clusters)


def decided_by(decisions: Iterable[DecisionObject]) -> DecisionsSoFar:
    """Index decisions, in whatever order they come; one without a placement counts, too."""
    by_owner: dict[tuple[str, str] | None, list[DecisionObject]] = defaultdict(list)
    for decision in decisions:
        by_owner[decision.owner].append(decision)
    unowned = _count(by_owner.pop(None, ()))
    found = DecisionsSoFar(_appearances=unowned)
    for owner, objects in by_owner.items():
        if owner is not None:
            found.put(owner, tuple(objects))
    return found
