"""What a pass publishes in neutral kinds, told from the world as the pass leaves it.

Like delivery it follows what was decided, once the brakes have spoken, and decides nothing itself:
the slices of a decision follow from the decision, from where its clusters stand in the slices of
the pass before, and from where their profiles are. A warm pass looks at the decisions that moved.

Where clusters are published, too, each has one profile, whatever APIs declare it; it differs from
the one of the pass before only where a fact of the cluster does. A profile of a cluster that is
gone stays as long as a slice names it.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial

from reconciler.core.dialects import CLUSTERS, DIALECTS, PLACED, dialect_of
from reconciler.core.inputs.world import clusters_in, languages, members_in
from reconciler.core.rounds import Additions, world_after
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt, place_of
from reconciler.manifests.paths import output_path
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of, matches
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache, differing_keys
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, Trace, World
from reconciler.multicluster.cluster_profile import (
    CLUSTER_PROFILE,
    InventoryPublishing,
    dated,
    decode_inventory,
    encode_profile,
    manager_of,
)
from reconciler.multicluster.placement_decision import (
    PLACEMENT_DECISION,
    DecisionOwner,
    DecisionPublishing,
    clusters_of,
    decode_publishing,
    encode_slices,
    key_label,
    slices_of,
)


@dataclass(frozen=True, slots=True)
class _Fleet:
    """The profiles of a fleet, but for moments, and the clusters of which none can be told."""

    profiles: Mapping[str, Body]
    failed: tuple[Failed, ...]


@dataclass(slots=True, eq=False)
class PublishMemory:
    """What was published last, so that only what differs is looked at.

    Attributes:
        left: The world as that pass left it, with what it published; `None` before the first.
        settings: Of that pass.
        profiles: Cluster to the namespace of its profile, then.
        owners: The decisions that are published, by what the names of their slices begin with.
        failed: Those of them whose clusters cannot be told.
        places: The namespaces of profiles that people wrote.
        drawn: The profile of each cluster, but for moments.
        fleet: All clusters that are published.
        settled: The fleet, and its published profiles, which were as they should be.
    """

    left: World | None = None
    settings: DecisionPublishing | None = None
    profiles: Mapping[str, str] = field(default_factory=dict)
    owners: dict[str, ObjectKey] = field(default_factory=dict)
    failed: dict[ObjectKey, Failed] = field(default_factory=dict)
    places: AnswerCache[None, Mapping[str, str]] = field(default_factory=AnswerCache)
    drawn: AnswerCache[str, Body] = field(default_factory=AnswerCache)
    fleet: AnswerCache[None, _Fleet] = field(default_factory=AnswerCache)
    settled: tuple[_Fleet, tuple[Manifest, ...]] | None = None

    def has_profiles(self, places: Mapping[str, str]) -> bool:
        """Return whether the profiles of clusters were at these places at that pass."""
        return self.profiles is places or self.profiles == places


def publish(
    world: World, after: World, settings: Settings, now: datetime, memory: PublishMemory
) -> Additions:
    """Return how what is published differs from what the pass before left.

    Args:
        world: As the pass found it.
        after: As the pass leaves it, but for what is published.
        settings: Of the repository.
        now: Moment of the pass.
        memory: What the pass before published; no answer depends on it.
    """
    inventory = decode_inventory(settings)
    fleet = _Fleet({}, ()) if inventory is None else _fleet(after, inventory, settings, memory)
    places = _places(world, after, inventory, fleet, memory)
    wanted = decode_publishing(settings, (dialect.name for dialect in DIALECTS))
    stage = _Publication(world, after, wanted, places, memory)
    last = memory.left
    if wanted is None:
        stage.gone |= {one.key for one in world.outputs_of_kind(PLACEMENT_DECISION)}
        memory.failed = {}
    elif last is None or memory.settings != wanted or not memory.has_profiles(places):
        stage.publish_all()
    else:
        stage.publish_moved(last)
    slices = world_after(after, stage.written, stage.gone, ())
    profiles, gone = stage.profiles_of(slices, inventory, fleet, format_moment(now))
    left = world_after(slices, profiles, gone, ())
    memory.left = None if wanted is None else left
    memory.settings, memory.profiles = wanted, places
    failed = [*(memory.failed[key] for key in sorted(memory.failed)), *fleet.failed]
    return Additions(
        world=left,
        written={**stage.written, **profiles},
        gone=frozenset(stage.gone | gone),
        faults=tuple(one.fault for one in failed),
        traces=tuple(Trace(one.fault, one.trace) for one in failed if one.trace),
    )


def _places(
    world: World,
    after: World,
    inventory: InventoryPublishing | None,
    fleet: _Fleet,
    memory: PublishMemory,
) -> Mapping[str, str]:
    """Return the namespace of each cluster's profile, that of one which is gone included."""
    if inventory is not None:
        published = world.outputs_of_kind(CLUSTER_PROFILE)

        def draw() -> Mapping[str, str]:
            names = {*fleet.profiles, *_others(after, inventory)}
            names.update(one.key.name for one in published)
            return dict.fromkeys(names, inventory.namespace)

        places = memory.places.recall(None, (fleet, published), draw)
        memory.places.forget()
        return places
    members = members_in(after)
    found = memory.places.recall(
        None, (members,), lambda: {one.key.name: one.key.namespace for one in members}
    )
    memory.places.forget()
    return found


def _others(world: World, inventory: InventoryPublishing) -> set[str]:
    """Return the names of the profiles that other managers have where we publish."""
    return {
        one.key.name
        for one in world.written_of_kind(*CLUSTER_PROFILE)
        if one.key.namespace == inventory.namespace and manager_of(one.body) != inventory.manager
    }


def _fleet(
    world: World, inventory: InventoryPublishing, settings: Settings, memory: PublishMemory
) -> _Fleet:
    """Return the profile of each cluster that no other manager has one of at that place."""
    kinds = tuple(world.written_of_kind(*kind) for kind in CLUSTERS)
    members = members_in(world)
    configured = (inventory.namespace, inventory.manager, settings.declared_clusters)

    def draw() -> _Fleet:
        names = {one.key.name: one for one in members}
        taken = _others(world, inventory)
        profiles: dict[str, Body] = {}
        failed: list[Failed] = []
        for cluster, _ in clusters_in(world):
            name = cluster.key.name
            if name in profiles or name in taken:
                continue
            profile, key = names.get(name), (cluster, names.get(name), *configured)
            work = partial(
                encode_profile,
                cluster.body,
                languages()[cluster.key[:2]],
                None if profile is None else profile.body,
                inventory,
                declared=settings.declared_clusters,
            )
            known = memory.drawn.find(name, key)
            found = attempt(work, partial(place_of, cluster)) if known is None else known
            if isinstance(found, Failed):
                failed.append(found)
            else:
                profiles[name] = memory.drawn.keep(name, key, found)
        memory.drawn.forget()
        return _Fleet(profiles, tuple(failed))

    found = memory.fleet.recall(None, (*kinds, members, *configured), draw)
    memory.fleet.forget()
    return found


@dataclass(slots=True, eq=False)
class _Publication:
    """What one pass publishes, so far."""

    world: World
    after: World
    settings: DecisionPublishing | None
    profiles: Mapping[str, str]
    memory: PublishMemory
    written: dict[ObjectKey, Body] = field(default_factory=dict)
    gone: set[ObjectKey] = field(default_factory=set)

    def publish_all(self) -> None:
        """Look at every decision, and at every slice that there is."""
        self.memory.owners, self.memory.failed = {}, {}
        stay, apis = set[ObjectKey](), {} if self.settings is None else self.settings.selectors
        for dialect in DIALECTS:
            for kind in dialect.placed if dialect.name in apis else ():
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
            slices = self._present(key_label(owner)).values()
            self.gone = self.gone.difference(stay).union(set(slices) - stay)

    def profiles_of(
        self, left: World, inventory: InventoryPublishing | None, fleet: _Fleet, now: str
    ) -> tuple[dict[ObjectKey, Body], AbstractSet[ObjectKey]]:
        """Return the profiles that differ, and those that go: their clusters are in no slice."""
        published = self.world.outputs_of_kind(CLUSTER_PROFILE)
        settled = self.memory.settled
        if settled is not None and settled[0] is fleet and settled[1] is published:
            return {}, frozenset()
        present = {one.key: one.body for one in published}
        stay, written = set[ObjectKey](), dict[ObjectKey, Body]()
        if inventory is not None:
            for name, profile in fleet.profiles.items():
                key = ObjectKey(*CLUSTER_PROFILE, inventory.namespace, name)
                stay.add(key)
                body = dated(profile, present.get(key), now)
                if present.get(key) != body:
                    written[key] = body
        leaving = present.keys() - stay
        self.memory.settled = (fleet, published) if not (written or leaving) else None
        if inventory is not None and leaving:
            slices = left.outputs_of_kind(PLACEMENT_DECISION)
            named = {name for one in slices for name in clusters_of(one.body)}
            named -= _others(self.after, inventory)  # theirs serves as the reference
            leaving = {
                key
                for key in leaving
                if key.namespace != inventory.namespace
                or not (fleet.failed or key.name in named)  # one that cannot be told stays
            }
        return written, leaving

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
        root, label = self.world.output_root, key_label(owner)
        slices = attempt(
            partial(self._slices, owner, label),
            lambda: FaultPlace(output_path(root, owner), str(owner)),
        )
        self.memory.failed.pop(owner, None)
        self.memory.owners[label] = owner
        if isinstance(slices, Failed):
            self.memory.failed[owner] = slices
            return set(self._present(label).values())
        if not slices:
            del self.memory.owners[label]
        for key, body in slices.items():
            present = self.world.outputs.get(key)
            if present is None or present.body != body:
                self.written[key] = body
        return set(slices)

    def _slices(self, owner: ObjectKey, label: str) -> Mapping[ObjectKey, Body]:
        """Return the slices of a decision, none where it is not published."""
        dialect = dialect_of(owner.group)
        if dialect is None or self.settings is None or dialect.name not in self.settings.selectors:
            return {}
        selector = self.settings.selectors[dialect.name]
        chosen = dialect.view().world.chosen(self.after, owner)
        about = self._about(owner)
        written = self.after.inputs.get(about)
        labels = {} if written is None else labels_of(written.body)
        if chosen is None or not matches(selector, labels):
            return {}
        known = self._present(label)
        present = {
            index: tuple(clusters_of(self.world.outputs[key].body)) for index, key in known.items()
        }
        return encode_slices(
            DecisionOwner(owner, about), chosen, present, self.settings, self.profiles
        )

    def _present(self, label: str) -> Mapping[int, ObjectKey]:
        """Return the slices of a decision that there are, by index."""
        namespace = "" if self.settings is None else self.settings.namespace
        return slices_of(self.world, namespace, label)

    def _about(self, owner: ObjectKey) -> ObjectKey:
        """Return what a decision is about: of a binding the workload, else itself."""
        output, dialect = self.after.outputs.get(owner), dialect_of(owner.group)
        if output is None or dialect is None:
            return owner
        reference = dialect.view().outputs.workload_of(output.body)
        return owner if reference is None else reference.key
