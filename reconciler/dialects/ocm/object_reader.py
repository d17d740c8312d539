"""What one placement or set reads: its own files, its placements, and the whole hub.

Others have a say where decisions are balanced: there those of all placements are counted.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.contract import DependsOnOthers, OutputPlace, Reads
from reconciler.dialects.ocm.api.cluster import SET_BINDINGS, SETS
from reconciler.dialects.ocm.api.placement import (
    CLUSTER,
    CLUSTER_GROUP,
    PLACEMENT_LABEL,
    WORK_GROUP,
    decode_placement,
)
from reconciler.dialects.ocm.scheduler.plugins import is_balanced
from reconciler.dialects.reads import FollowedIndex
from reconciler.dialects.scores import SCORES
from reconciler.errors import UserError
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.world import Manifest, World

PLACEMENT = (CLUSTER_GROUP, "Placement")
DECISION = (CLUSTER_GROUP, "PlacementDecision")
SET = (WORK_GROUP, "ManifestWorkReplicaSet")
STEM = "-decision-"
LABELLED, NAMED = "labelled", "named"


def _ways(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield the placement that a decision is of by its label, and the one by its name."""
    if key[:2] == DECISION:
        yield LABELLED, key.namespace, _owner(manifest)
        yield NAMED, key.namespace, key.name.rpartition(STEM)[0]


def _owner(manifest: Manifest) -> str:
    return str(at(manifest.body, "metadata", "labels").get(PLACEMENT_LABEL, ""))


@dataclass(slots=True, eq=False)
class HubPlacementReader:
    """Says what one placement, or one set of ManifestWorks, reads."""

    shared: frozenset[Kind] = frozenset({CLUSTER, SETS, SET_BINDINGS, SCORES})
    consulted: frozenset[Kind] = frozenset({CLUSTER, SETS, SET_BINDINGS, SCORES})
    _world: World | None = None
    _decisions: FollowedIndex[Hashable, Manifest] = field(
        default_factory=lambda: FollowedIndex(_ways)
    )

    def follow(self, world: World, /) -> None:
        """Go on to another world."""
        self._world = world
        self._decisions.follow(world.outputs)

    def objects(self) -> Mapping[ObjectKey, frozenset[ObjectKey]]:
        """Return the placements and sets; as one where any of them depends on others."""
        inputs = () if self._world is None else self._world.inputs
        reads = {key: self.reads(key) for key in inputs if key[:2] in (PLACEMENT, SET)}
        told = {key: one.inputs for key, one in reads.items() if isinstance(one, Reads)}
        if len(told) == len(reads):
            return told
        return dict.fromkeys(reads, frozenset(reads).union(*told.values()))

    def reads(self, key: ObjectKey, /) -> Reads | DependsOnOthers:
        """Return what a placement or a set reads, or why others have a say."""
        world = self._world
        if world is None or key[:2] not in (PLACEMENT, SET):
            return DependsOnOthers(f"nothing is decided about a {key.kind} by itself")
        inputs, outputs = {key}, {key}
        for placement in _placements(world, key):
            others = self._others(world, placement)
            if others:
                return DependsOnOthers(others)
            inputs.add(placement)
            outputs |= {placement, *self._own(placement)}
        return Reads(frozenset(inputs), frozenset(outputs))

    def places(self, key: ObjectKey, /) -> Iterable[OutputPlace]:
        """Return the places of its own file and decisions; of a set, of all in its namespace."""
        stem = key.name if key[:2] == PLACEMENT else ""
        yield OutputPlace(key[:2], key.namespace, key.name)
        yield OutputPlace(PLACEMENT, key.namespace, stem)
        yield OutputPlace(DECISION, key.namespace, f"{stem}{STEM}" if stem else "")

    def _own(self, placement: ObjectKey) -> frozenset[ObjectKey]:
        space, name = placement.namespace, placement.name
        labelled = self._decisions.of((LABELLED, space, name))
        return frozenset(labelled | self._decisions.of((NAMED, space, name)))

    def _others(self, world: World, placement: ObjectKey) -> str:
        """Return why a placement depends on others, `""` if it does not."""
        manifest = world.inputs.get(placement)
        if manifest is not None and _is_balanced(manifest):
            return "its prioritizer Balance counts the decisions of all placements"
        for one in sorted(self._own(placement)):
            if _owner(world.outputs[one]) != placement.name:
                return f"{one} bears the name of its decisions, and is of another placement"
            if one.name.rpartition(STEM)[0] != placement.name:
                return f"{one} is of it, and bears the name of another placement's decisions"
        return ""


def _placements(world: World, key: ObjectKey) -> Iterator[ObjectKey]:
    """Yield the placements that an object is, or refers to."""
    if key[:2] == PLACEMENT:
        yield key
        return
    manifest = world.inputs.get(key)
    if manifest is not None:
        for one in mappings_of(at(manifest.body, "spec").get("placementRefs")):
            yield ObjectKey(*PLACEMENT, key.namespace, str(one.get("name", "")))


def _is_balanced(manifest: Manifest) -> bool:
    """Return whether a placement counts what others have; where it cannot be told, it does."""
    try:
        return is_balanced(decode_placement(manifest.body))
    except UserError:
        return True
