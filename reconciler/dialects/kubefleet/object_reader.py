"""What one placement reads: its files, what it may select, who acts on it, clusters, overrides."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field

from reconciler.dialects import reads as object_reads
from reconciler.dialects.contract import DependsOnOthers, OutputPlace, Reads
from reconciler.dialects.kubefleet.api.binding import PLACEMENT_PART
from reconciler.dialects.kubefleet.api.names import (
    CLUSTER,
    GROUP,
    NAMESPACE,
    OWNED,
    RESOURCE_SNAPSHOTS,
    RUNS,
    is_placement,
    kinds_in,
    placement_key,
)
from reconciler.dialects.kubefleet.api.snapshots import readable_entries, resource_key
from reconciler.dialects.kubefleet.drift_repair import owner_of
from reconciler.dialects.kubefleet.eviction import BUDGET, EVICTION
from reconciler.dialects.kubefleet.overrides import OVERRIDES
from reconciler.dialects.kubefleet.snapshots.selection import ENDPOINTS, SERVICE
from reconciler.dialects.kubefleet.updaterun.runs import REQUESTS, strategy_key
from reconciler.dialects.reads import FollowedIndex
from reconciler.dialects.scores import SCORES
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import at, mapping_of, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.world import Manifest, World

FROM = "from"
OF_RUN = "of run"


def _ways(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield how an object may be selected; of an eviction or a run, which placement it names."""
    if key[:2] == (GROUP, EVICTION) or key[:2] in RUNS:
        name = at(manifest.body, "spec").get("placementName")
        yield FROM, placement_key(key.namespace, str(name))
    if key[:2] in REQUESTS:
        yield _of_run(key, manifest)
    yield from object_reads.about(manifest)


def _of_run(key: ObjectKey, manifest: Manifest) -> Hashable:
    """Return by which run an approval request is found."""
    return OF_RUN, key.namespace, str(at(manifest.body, "spec").get("parentStageRollout"))


def _owners(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield the placement that an output belongs to."""
    if key.group == GROUP and key.kind in OWNED:
        yield owner_of(key, manifest.body)
    if key[:2] in REQUESTS:
        yield _of_run(key, manifest)


def _held(world: World, outputs: Iterable[ObjectKey]) -> Iterator[ObjectKey]:
    """Yield what the resource snapshots among some outputs hold, as far as they can be read."""
    for key in outputs:
        if key.kind in RESOURCE_SNAPSHOTS and key in world.outputs:
            for entry in readable_entries(world.outputs[key].body):
                with suppress(UserError):
                    yield resource_key(entry)


@dataclass(slots=True, eq=False)
class FleetPlacementReader:
    """Says what one placement reads."""

    shared: frozenset[Kind] = frozenset({CLUSTER, SCORES, *OVERRIDES})
    consulted: frozenset[Kind] = frozenset({CLUSTER, SCORES, *OVERRIDES})
    _world: World | None = None
    _inputs: FollowedIndex[Hashable, Manifest] = field(default_factory=lambda: FollowedIndex(_ways))
    _outputs: FollowedIndex[Hashable, Manifest] = field(
        default_factory=lambda: FollowedIndex(_owners)
    )

    def follow(self, world: World, /) -> None:
        """Go on to another world."""
        self._world = world
        self._outputs.follow(world.outputs)

    def objects(self) -> Mapping[ObjectKey, frozenset[ObjectKey]]:
        """Return the placements."""
        inputs = () if self._world is None else self._world.inputs
        reads = {key: self.reads(key) for key in inputs if is_placement(key)}
        return {key: one.inputs for key, one in reads.items() if isinstance(one, Reads)}

    def reads(self, key: ObjectKey, /) -> Reads | DependsOnOthers:
        """Return what a placement reads."""
        world = self._world
        if world is None or not is_placement(key):
            return DependsOnOthers(f"nothing is decided about a {key.kind} by itself")
        self._inputs.follow(world.inputs)  # it reads the labels of every input
        acting = self._inputs.of((FROM, key))
        runs = [one for one in acting if one[:2] in RUNS]
        inputs = {key, *acting, ObjectKey(GROUP, BUDGET, "", key.name)}
        for one in runs:
            inputs.add(strategy_key(world.inputs[one]))
            inputs |= self._inputs.of((OF_RUN, one.namespace, one.name))
        manifest = world.inputs.get(key)
        if manifest is not None:
            selectors = mappings_of(at(manifest.body, "spec").get("resourceSelectors"))
            inputs.update(self._selected(selectors, key.namespace))
        own = self._outputs.of(key)
        inputs.update(_held(world, own))
        outputs = {key, *acting, *own}
        for one in runs:
            outputs |= self._outputs.of((OF_RUN, one.namespace, one.name))
        return Reads(frozenset(inputs), frozenset(outputs))

    def places(self, key: ObjectKey, /) -> Iterable[OutputPlace]:
        """Return the places of its own file, of its parts by their names, and of who acts on it."""
        yield OutputPlace(key[:2], key.namespace, key.name)
        yield OutputPlace((GROUP, EVICTION), "")
        kinds = kinds_in(key.namespace)
        for kind in (kinds.run, kinds.approval_request):
            yield OutputPlace((GROUP, kind), key.namespace)
        for kind in sorted(OWNED):
            yield OutputPlace((GROUP, kind), key.namespace, key.name[:PLACEMENT_PART])

    def _selected(self, selectors: Iterable[Body], namespace: str) -> Iterator[ObjectKey]:
        """Yield what selectors may select, and the Services for which Endpoints are made."""
        for selector in selectors:
            kind = (str(selector.get("group") or ""), str(selector.get("kind") or ""))
            found = self._matching(kind, selector)
            yield from (key for key in found if key.namespace == namespace or not namespace)
            if kind == NAMESPACE and not namespace:
                names = {str(selector.get("name") or ""), *(key.name for key in found)} - {""}
                for name in names:
                    yield from self._inputs.of(object_reads.within(name))
            if kind == ENDPOINTS:
                for key in found:
                    yield ObjectKey(*SERVICE, key.namespace, key.name)

    def _matching(self, kind: Kind, selector: Body) -> AbstractSet[ObjectKey]:
        """Return what has the kind, and the name or a label, that a selector asks for.

        Labels that cannot be read are an error of whoever asks for any.
        """
        name = selector.get("name")
        if name:
            return self._inputs.of(object_reads.named(kind, str(name)))
        wanted = mapping_of(at(selector, "labelSelector").get("matchLabels"))
        if wanted:
            ways = (
                object_reads.with_label(kind, str(label), str(value))
                for label, value in wanted.items()
            )
            odd = self._inputs.of(object_reads.with_odd_labels(kind))
            return min(map(self._inputs.of, ways), key=len) | odd
        return self._inputs.of(object_reads.of_kind(kind))
