"""PlacementDecisions: who has been chosen so far, by this placement and by the others."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.dialects.ocm.api.placement import GROUP, Placement
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.selectors import MAX_NAME

PLACEMENT_LABEL = f"{GROUP}/placement"
GROUP_INDEX_LABEL = f"{GROUP}/decision-group-index"
GROUP_NAME_LABEL = f"{GROUP}/decision-group-name"


@dataclass(frozen=True, slots=True)
class DecisionObject:
    """One PlacementDecision: its labels, and its clusters in stored order."""

    namespace: str
    name: str
    labels: tuple[tuple[str, str], ...]
    clusters: tuple[ClusterName, ...]

    @property
    def owner(self) -> tuple[str, str] | None:
        """Namespace and name of the placement that its label names, `None` without the label."""
        name = dict(self.labels).get(PLACEMENT_LABEL)
        return None if name is None else (self.namespace, name)


@dataclass(frozen=True, slots=True)
class DecisionsSoFar:
    """Every decision of the hub: by placement, and how often each cluster is chosen in all."""

    by_owner: Mapping[tuple[str, str], tuple[DecisionObject, ...]]
    appearances: Mapping[ClusterName, int]

    def own(self, placement: Placement) -> tuple[DecisionObject, ...]:
        """Return the decisions of a placement; a name too long for a label finds none."""
        if len(placement.name) > MAX_NAME:
            return ()
        return self.by_owner.get((placement.namespace, placement.name), ())

    def of_others(self, placement: Placement) -> Mapping[ClusterName, int]:
        """Return how often each cluster is chosen by anyone but the placement."""
        mine = _count(self.by_owner.get((placement.namespace, placement.name), ()))
        if not mine:
            return self.appearances
        others = dict(self.appearances)
        for name, count in mine.items():
            others[name] -= count
            if not others[name]:
                del others[name]
        return others

    def replaced(
        self, placement: Placement, objects: tuple[DecisionObject, ...]
    ) -> "DecisionsSoFar":
        """Return the decisions with others for one placement."""
        owner = (placement.namespace, placement.name)
        appearances = Counter(self.of_others(placement)) + _count(objects)
        return DecisionsSoFar({**self.by_owner, owner: objects}, appearances)


def _count(decisions: Iterable[DecisionObject]) -> Counter[ClusterName]:
    """Return how often each cluster is in the decisions."""
    return Counter(name for decision in decisions for name in decision.clusters)


def decided_by(decisions: Iterable[DecisionObject]) -> DecisionsSoFar:
    """Index decisions, in whatever order they come."""
    by_owner: dict[tuple[str, str], list[DecisionObject]] = defaultdict(list)
    appearances: Counter[ClusterName] = Counter()
    for decision in decisions:
        appearances.update(decision.clusters)
        owner = decision.owner
        if owner is not None:
            by_owner[owner].append(decision)
    return DecisionsSoFar({owner: tuple(found) for owner, found in by_owner.items()}, appearances)


def decode_decision(body: Body) -> DecisionObject:
    """Return the decision that a manifest holds."""
    metadata, status = fields.mapping(body, "metadata"), fields.mapping(body, "status")
    return DecisionObject(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        labels=fields.pairs_or_none(metadata, "labels") or (),
        clusters=tuple(
            ClusterName(fields.text(item, "clusterName"))
            for item in fields.bodies(status, "decisions")
        ),
    )
