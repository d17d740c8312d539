"""Which rebalancers and triggers may demand something of an object."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from reconciler.dialects.followed_index import FollowedIndex
from reconciler.model.content import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World
from reconciler.rebalance.kinds import REBALANCER, TRIGGER

DESCRIBED = "described"


def _ways(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield what a rebalancer or a trigger names; its policies may claim anything."""
    if key[:2] not in (REBALANCER, TRIGGER):
        return
    spec = at(manifest.body, "spec")
    if spec.get("selector") is not None or spec.get("targetRefPolicy"):
        yield DESCRIBED
    for section in ("workloads", "targetRefResource"):
        for item in mappings_of(spec.get(section)):
            yield item.get("kind"), item.get("name")


@dataclass(slots=True, eq=False)
class RebalancerIndex:
    """Rebalancers and triggers by what they may mean; it follows worlds."""

    _index: FollowedIndex[Hashable, Manifest] = field(default_factory=lambda: FollowedIndex(_ways))

    def follow(self, world: World) -> None:
        """Go on to another world."""
        self._index.follow(world.inputs)

    def concerning(self, keys: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
        """Return those that may mean one of some objects."""
        found = set(self._index.of(DESCRIBED))
        for key in keys:
            found |= self._index.of((key.kind, key.name))
        return frozenset(found)
