"""Custom kinds that clusters are given without what defines them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from reconciler.dialects.renderer import Rendered
from reconciler.manifests.scope import CRD, KUBERNETES
from reconciler.model.content import at
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import World

NAMED = 3  # clusters that are named in a warning


@dataclass(frozen=True, slots=True)
class CustomObjects:
    """What one decision puts onto clusters.

    Attributes:
        used: Kinds that Kubernetes does not ship.
        defined: CustomResourceDefinitions.
    """

    used: frozenset[tuple[Kind, ClusterName]] = frozenset()
    defined: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()


def custom_objects(rendered: Rendered) -> CustomObjects:
    """Return what a decision puts onto clusters beside what every cluster knows."""
    used, defined = set(), set()
    for work in rendered.works:
        for key in work.manifests:
            kind = (key.group, key.kind)
            if kind == CRD:
                defined.add((key, work.cluster))
            elif kind not in KUBERNETES:
                used.add((kind, work.cluster))
    return CustomObjects(frozenset(used), frozenset(defined))


@dataclass(slots=True, eq=False)
class DefinitionTable:
    """How many decisions bring a kind, or a definition, to a cluster; it is changed in place."""

    _used: dict[Kind, Counter[ClusterName]] = field(default_factory=dict)
    _defined: dict[ObjectKey, Counter[ClusterName]] = field(default_factory=dict)

    def put(self, before: CustomObjects, after: CustomObjects) -> None:
        """Replace what one decision brings."""
        for step, one in ((-1, before), (1, after)):
            for kind, cluster in one.used:
                self._used.setdefault(kind, Counter())[cluster] += step
            for key, cluster in one.defined:
                self._defined.setdefault(key, Counter())[cluster] += step

    def missing(self, world: World) -> Iterator[str]:
        """Yield each kind that is defined in the repository, and not in each cluster that gets it.

        Of a kind whose definition is not in the repository nothing is said: whatever brings it to
        the clusters, delivery does not.
        """
        for definition in world.of_kind(*CRD):
            spec = at(definition.body, "spec")
            kind = str(spec.get("group", "")), str(at(spec, "names").get("kind", ""))
            there = +self._defined.get(definition.key, Counter())
            lacking = sorted((+self._used.get(kind, Counter())).keys() - there.keys())
            if lacking:
                yield (
                    f"objects of kind {kind[1]} go to {enumerated(lacking, NAMED)}, where the "
                    f"CustomResourceDefinition {definition.key.name} does not go"
                )
