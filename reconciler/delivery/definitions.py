"""What clusters are given without what it needs: kinds without definitions, and Namespaces.

A cluster may have both from elsewhere. Where it has not, Flux applies nothing of its folder.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.renderer import Rendered
from reconciler.manifests.built_in import is_built_in
from reconciler.manifests.scope import CRD, KUBERNETES
from reconciler.model.content import at
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import World

NAMED = 3  # clusters that are named in a warning


NAMESPACE: Kind = ("", "Namespace")
ByName = tuple[tuple[str, tuple[ClusterName, ...]], ...]
"""Clusters by the name of a Namespace; a tuple, since there is one of each decision."""


@dataclass(frozen=True, slots=True)
class CustomObjects:
    """What one decision puts onto clusters.

    Attributes:
        used: Kinds that Kubernetes does not ship.
        defined: CustomResourceDefinitions.
        namespaces: Namespaces in which it puts something, each with the clusters.
        brought: Namespaces that it puts onto clusters, each with these.
    """

    used: frozenset[tuple[Kind, ClusterName]] = frozenset()
    defined: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()
    namespaces: ByName = ()
    brought: ByName = ()


def custom_objects(rendered: Rendered) -> CustomObjects:
    """Return what a decision puts onto clusters beside what every cluster knows."""
    used, defined = set(), set()
    inside: defaultdict[str, dict[ClusterName, None]] = defaultdict(dict)
    brought: defaultdict[str, dict[ClusterName, None]] = defaultdict(dict)
    for work in rendered.works:
        for key in work.manifests:
            kind = (key.group, key.kind)
            if key.namespace:
                inside[key.namespace][work.cluster] = None
            elif kind == NAMESPACE:
                brought[key.name][work.cluster] = None
            if kind == CRD:
                defined.add((key, work.cluster))
            elif kind not in KUBERNETES:
                used.add((kind, work.cluster))
    return CustomObjects(frozenset(used), frozenset(defined), _by_name(inside), _by_name(brought))


def _by_name(found: Mapping[str, Iterable[ClusterName]]) -> ByName:
    return tuple((name, tuple(clusters)) for name, clusters in found.items())


@dataclass(slots=True, eq=False)
class DefinitionTable:
    """How many decisions bring a kind, a definition or a Namespace; it is changed in place."""

    _used: dict[Kind, Counter[ClusterName]] = field(default_factory=dict)
    _defined: dict[ObjectKey, Counter[ClusterName]] = field(default_factory=dict)
    _inside: dict[str, Counter[ClusterName]] = field(default_factory=dict)
    _brought: dict[str, Counter[ClusterName]] = field(default_factory=dict)
    _touched: set[str] = field(default_factory=set)
    _lacking: dict[str, tuple[ClusterName, ...]] = field(default_factory=dict)

    def put(self, before: CustomObjects, after: CustomObjects) -> None:
        """Replace what one decision brings."""
        for step, one in ((-1, before), (1, after)):
            for kind, cluster in one.used:
                self._used.setdefault(kind, Counter())[cluster] += step
            for key, cluster in one.defined:
                self._defined.setdefault(key, Counter())[cluster] += step
            for table, listed in ((self._inside, one.namespaces), (self._brought, one.brought)):
                for name, clusters in listed:
                    self._touched.add(name)
                    counter = table.setdefault(name, Counter())
                    for cluster in clusters:
                        counter[cluster] += step

    def without_namespace(self) -> Iterator[str]:
        """Yield each Namespace that does not go to each cluster that gets something in it."""
        for name in self._touched:
            inside, brought = self._inside.get(name), self._brought.get(name)
            there = {one for one, count in (brought or {}).items() if count}
            gets = {one for one, count in (inside or {}).items() if count}
            self._lacking[name] = tuple(sorted(gets - there))
        self._touched.clear()
        for name, lacking in sorted(self._lacking.items()):
            if lacking and not is_built_in(ObjectKey(*NAMESPACE, "", name)):
                yield (
                    f"objects in the Namespace {name} go to {enumerated(lacking, NAMED)}, where "
                    "nothing brings it, so that they only come to clusters that have it"
                )

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
