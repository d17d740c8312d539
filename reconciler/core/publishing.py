"""What a pass publishes in neutral kinds, told from the world as the pass leaves it.

Like delivery it follows what was decided, once the brakes have spoken, and decides nothing itself:
the slices of a decision follow from the decision, from where its clusters stand in the slices of
the pass before, and from where their profiles are. A warm pass looks at the decisions that moved.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.core.inputs.world import members_in
from reconciler.core.rounds import world_after
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt
from reconciler.manifests.paths import output_path
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of, matches
from reconciler.model.remembered import AnswerCache, differing_keys
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Trace, World
from reconciler.multicluster.placement_decision import (
    PLACEMENT_DECISION,
    DecisionOwner,
    DecisionPublishing,
    SliceEntry,
    clusters_of,
    decode_publishing,
    encode_slices,
    key_label,
    slices_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Outputs that get another body, those that go, and what is wrong with decisions."""

    written: Mapping[ObjectKey, Body] = field(default_factory=dict)
    gone: frozenset[ObjectKey] = frozenset()
    faults: tuple[Fault, ...] = ()
    traces: tuple[Trace, ...] = ()


@dataclass(slots=True, eq=False)
class PublishMemory:
    """What was published last, so that only what differs is looked at.

    Attributes:
        left: The world as that pass left it, with what it published; `None` before the first.
        settings: Of that pass.
        profiles: Cluster to the namespace of its profile, then.
        owners: The decisions that are published, by what the names of their slices begin with.
        failed: Those of them whose clusters cannot be told.
    """

    left: World | None = None
    settings: DecisionPublishing | None = None
    profiles: Mapping[str, str] = field(default_factory=dict)
    owners: dict[str, ObjectKey] = field(default_factory=dict)
    failed: dict[ObjectKey, Failed] = field(default_factory=dict)
    places: AnswerCache[None, Mapping[str, str]] = field(default_factory=AnswerCache)


def publish(world: World, after: World, settings: Settings, memory: PublishMemory) -> Published:
    """Return how what is published differs from what the pass before left.

    Args:
        world: As the pass found it.
        after: As the pass leaves it, but for what is published.
        settings: Of the repository.
        memory: What the pass before published; no answer depends on it.
    """
    wanted = decode_publishing(settings, (dialect.name for dialect in DIALECTS))
    if wanted is None:
        memory.left = None
        return Published(
            gone=frozenset(one.key for one in world.outputs_of_kind(PLACEMENT_DECISION))
        )
    profiles = _profiles(after, memory)
    stage = _Publication(world, after, wanted, profiles, memory)
    last = memory.left
    if last is None or memory.settings != wanted or memory.profiles != profiles:
        stage.publish_all()
    else:
        stage.publish_moved(last)
    memory.left = world_after(after, stage.written, stage.gone, ())
    memory.settings, memory.profiles = wanted, profiles
    failed = [memory.failed[key] for key in sorted(memory.failed)]
    return Published(
        written=stage.written,
        gone=frozenset(stage.gone),
        faults=tuple(one.fault for one in failed),
        traces=tuple(Trace(one.fault, one.trace) for one in failed if one.trace),
    )


def _profiles(world: World, memory: PublishMemory) -> Mapping[str, str]:
    """Return the namespace of each cluster's profile."""
    members = members_in(world)
    found = memory.places.recall(
        None, (members,), lambda: {one.key.name: one.key.namespace for one in members}
    )
    memory.places.forget()
    return found


@dataclass(slots=True, eq=False)
class _Publication:
    """What one pass publishes, so far."""

    world: World
    after: World
    settings: DecisionPublishing
    profiles: Mapping[str, str]
    memory: PublishMemory
    written: dict[ObjectKey, Body] = field(default_factory=dict)
    gone: set[ObjectKey] = field(default_factory=set)

    def publish_all(self) -> None:
        """Look at every decision, and at every slice that there is."""
        self.memory.owners, self.memory.failed = {}, {}
        stay = set[ObjectKey]()
        for dialect in DIALECTS:
            for kind in dialect.placed if dialect.name in self.settings.selectors else ():
                for one in self.after.outputs_of_kind(kind):
                    stay |= self._publish(one.key)
        slices = self.world.outputs_of_kind(PLACEMENT_DECISION)
        self.gone |= {one.key for one in slices if one.key not in stay}

    def publish_moved(self, last: World) -> None:
        """Look at the decisions and slices that are others than the pass before left them."""
        owners = set(self._owners_of_inputs(last))
        for key in differing_keys(self.after.outputs, last.outputs):
            if key[:2] == PLACEMENT_DECISION:
                owner = self.memory.owners.get(key.name.rpartition("-")[0])
                if owner is not None:
                    owners.add(owner)
                if key in self.world.outputs:
                    self.gone.add(key)  # unless a decision has it
                continue
            owners |= {key} if key[:2] in PLACED else set()
            dialect = dialect_of(key.group)
            for side in (self.after, last) if dialect is not None else ():
                output = side.outputs.get(key)
                owner = None
                if dialect is not None and output is not None:
                    owner = dialect.view().outputs.owner_of(key, output.body)
                owners |= set() if owner is None else {owner}
        for owner in sorted(owners):
            stay = self._publish(owner)
            slices = slices_of(self.world, self.settings.namespace, owner).values()
            self.gone = self.gone.difference(stay).union(set(slices) - stay)

    def _owners_of_inputs(self, last: World) -> Iterator[ObjectKey]:
        """Yield the decisions about what people wrote otherwise: labels may choose them."""
        for key in differing_keys(self.after.inputs, last.inputs):
            if key[:2] in PLACED:
                yield key
            for dialect in DIALECTS:
                decided = dialect.view().outputs.decision_on(key)
                if decided is not None:
                    yield decided

    def _publish(self, owner: ObjectKey) -> set[ObjectKey]:
        """Publish one decision, and return its slices; of one that fails those that there are."""
        place = FaultPlace(output_path(self.world.output_root, owner), str(owner))
        slices = attempt(partial(self._slices, owner), lambda: place)
        label = key_label(owner)
        self.memory.failed.pop(owner, None)
        self.memory.owners[label] = owner
        if isinstance(slices, Failed):
            self.memory.failed[owner] = slices
            return set(slices_of(self.world, self.settings.namespace, owner).values())
        if not slices:
            del self.memory.owners[label]
        for key, body in slices.items():
            present = self.world.outputs.get(key)
            if present is None or present.body != body:
                self.written[key] = body
        return set(slices)

    def _slices(self, owner: ObjectKey) -> Mapping[ObjectKey, Body]:
        """Return the slices of a decision, none where it is not published."""
        dialect = dialect_of(owner.group)
        selector = None if dialect is None else self.settings.selectors.get(dialect.name)
        if dialect is None or selector is None:
            return {}
        chosen = dialect.view().world.chosen(self.after, owner)
        about = self._about(owner)
        written = self.after.inputs.get(about)
        labels = {} if written is None else labels_of(written.body)
        if chosen is None or not matches(selector, labels):
            return {}
        known = slices_of(self.world, self.settings.namespace, owner)
        present = {
            index: tuple(clusters_of(self.world.outputs[key].body)) for index, key in known.items()
        }
        entries = (SliceEntry(one.name, one.reason, one.replicas) for one in chosen)
        return encode_slices(
            DecisionOwner(owner, about), entries, present, self.settings, self.profiles
        )

    def _about(self, owner: ObjectKey) -> ObjectKey:
        """Return what a decision is about: of a binding the workload, else itself."""
        output, dialect = self.after.outputs.get(owner), dialect_of(owner.group)
        if output is None or dialect is None:
            return owner
        reference = dialect.view().outputs.workload_of(output.body)
        return owner if reference is None else reference.key
