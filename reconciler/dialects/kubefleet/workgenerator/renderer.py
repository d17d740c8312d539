"""What KubeFleet's placements put onto clusters: for each binding what its snapshot holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from reconciler.dialects.cluster_reads import named
from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS, is_placement, subject_of
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.resource_snapshot import SnapshotEntry, decode_resources
from reconciler.dialects.kubefleet.overrider.apply_overrides import apply_overrides
from reconciler.dialects.kubefleet.overrider.matching import (
    overrides_of_cluster,
    overrides_of_placement,
    target_of,
)
from reconciler.dialects.kubefleet.overrider.override import (
    MemberLabels,
    Override,
    OverrideTarget,
)
from reconciler.dialects.kubefleet.workgenerator.envelopes import is_envelope, targets_of
from reconciler.dialects.kubefleet.workgenerator.namespaces import (
    LEFT,
    entries_of,
    missing_namespaces,
    namespace_key,
    namespace_work,
)
from reconciler.dialects.kubefleet.workgenerator.placement_files import (
    bindings_of,
    snapshots_of,
)
from reconciler.dialects.kubefleet.workgenerator.render import (
    MemberRendering,
    is_rendered,
    render_binding,
)
from reconciler.dialects.kubefleet.workgenerator.render_reads import overrides_read
from reconciler.dialects.kubefleet.workgenerator.snapshot_content import (
    PastContent,
    content_at,
    stored,
)
from reconciler.dialects.kubefleet.workgenerator.snapshot_group import snapshot_group
from reconciler.dialects.read_index import Question
from reconciler.dialects.renderer import ClusterWork, NotRendered, Reach, Rendered
from reconciler.dialects.work_spec import fill_work
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, eq=False)
class MembersByName:
    """The clusters as overrides see them, by name."""

    members: Mapping[ClusterName, MemberLabels]
    names: tuple[ClusterName, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(sorted(self.members)))


@dataclass(slots=True, eq=False)
class KubeFleetRenderer:
    """The placements of one world, and what rendering asks beside them.

    Attributes:
        world: As a pass leaves it.
        fleet: The clusters.
        overrides: All of them, sorted by namespace and name.
        along: Namespaces that go along, each with its clusters.
        lacking: Placements of which an earlier version of an object is missing, noted for later.
    """

    world: World
    fleet: MembersByName
    overrides: tuple[Override, ...]
    along: Mapping[ObjectKey, Sequence[ClusterName]]
    lacking: set[ObjectKey]

    def owners(self) -> Iterable[ObjectKey]:
        """Return the Namespaces that go along, and the placements that a pass has decided."""
        yield from self.along
        kinds = ((GROUP, kind) for kind in sorted(PLACEMENTS))
        yield from (one.key for one in self.world.outputs_of(kinds))

    def clusters(self) -> tuple[ClusterName, ...]:
        """Return the names of the fleet."""
        return self.fleet.names

    def render(self, owner: ObjectKey, /) -> Rendered | None:
        """Render each binding of a placement, or a Namespace that goes along."""
        if owner in self.along:
            return self._namespace(owner)
        output = self.world.outputs.get(owner)
        if output is None or not is_placement(owner):
            return None
        self.lacking.discard(owner)
        found = _PlacementContent(self, owner)
        bindings = [one for one in bindings_of(self.world, owner) if one.state in LEFT]
        rendered = [one for one in bindings if is_rendered(one)]
        each = [work for one in rendered for work in self._works(one, owner, found)]
        shown = {one.target for one in rendered}
        written = self.world.inputs.get(owner)
        return Rendered(
            path=output.origin.path if written is None else written.origin.path,
            works=tuple(one for one in each if isinstance(one, ClusterWork)),
            failed=tuple(one for one in each if isinstance(one, NotRendered)),
            kept=frozenset(one.target for one in bindings) - shown,
            placed=tuple((name, None) for name in sorted(shown)),
            warnings=tuple(found.warnings()) if rendered else (),
            reads=frozenset(
                (*found.asked(one.resource_snapshot for one in rendered), *map(named, shown))
            ),
        )

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return what the snapshots of a placement hold, for each cluster that may have it."""
        if owner in self.along:
            return dict.fromkeys(self.along[owner], (owner,))
        if owner not in self.world.outputs or not is_placement(owner):
            return {}
        found = _PlacementContent(self, owner)
        own = (namespace_key(owner.namespace),) if owner.namespace else ()
        sources = tuple(sorted({*found.sources(), *own}))
        names = sorted({one.target for one in bindings_of(self.world, owner) if one.state in LEFT})
        return dict.fromkeys(names, sources)

    def is_namespaced(self, target: OverrideTarget) -> bool:
        """Return whether an object is of a namespaced kind; one of no known kind says it itself."""
        return self.world.known.scopes.get((target.group, target.kind), bool(target.namespace))

    def _namespace(self, key: ObjectKey) -> Rendered:
        """Render a Namespace for the clusters that have something of it."""
        written = self.world.inputs[key]
        body, target = stored(written), target_of(written.body)
        overrides = overrides_of_placement(self.overrides, "", (target,), self.is_namespaced)
        works: list[ClusterWork] = []
        failed: list[NotRendered] = []
        for name in self.along[key]:
            member = self.fleet.members.get(name, MemberLabels(name, {}))
            try:
                picked = overrides_of_cluster(overrides, member)
                found = apply_overrides(body, target, picked, member, namespaced=False)
                manifests = {} if found is None else {key: found}
                carrier = namespace_work(key.name, name)
                works.append(
                    ClusterWork(cluster=name, carrier=carrier, fill=fill_work, manifests=manifests)
                )
            except UserError as error:
                failed.append(NotRendered(name, error.message))
        asked = (*overrides_read(target, namespaced=False), *map(named, self.along[key]))
        return Rendered(
            path=written.origin.path,
            works=tuple(works),
            failed=tuple(failed),
            reads=frozenset(asked),
        )

    def _works(
        self, binding: Binding, owner: ObjectKey, found: "_PlacementContent"
    ) -> list[ClusterWork | NotRendered]:
        """Return what the cluster of a binding gets, or why it gets nothing new."""
        member = self.fleet.members.get(binding.target)
        if member is None:
            missing = f'memberclusters.cluster.kubernetes-fleet.io "{binding.target}" not found'
            return [NotRendered(binding.target, missing)]
        try:
            matched = found.overrides(binding.resource_snapshot)
            picked = overrides_of_cluster(matched, member)
            rendering = MemberRendering(member, picked, found.content, self.is_namespaced)
            return list(render_binding(binding, found.snapshots, rendering))
        except UserError as error:
            if isinstance(error, PastContent):
                self.lacking.add(owner)
            return [NotRendered(binding.target, error.message)]


@dataclass(slots=True, eq=False)
class _PlacementContent:
    """What the snapshots of one placement hold, read once for all its clusters."""

    renderer: KubeFleetRenderer
    owner: ObjectKey
    snapshots: list[Body] = field(init=False)
    _contents: dict[tuple[ObjectKey, str], Body] = field(default_factory=dict)
    _overrides: dict[str, list[Override]] = field(default_factory=dict)
    _held: dict[str, Sequence[OverrideTarget]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.snapshots = snapshots_of(self.renderer.world, self.owner)

    def content(self, entry: SnapshotEntry) -> Body:
        """Return the object that an entry of a snapshot stands for."""
        name = entry.key, entry.hash
        if name not in self._contents:
            self._contents[name] = content_at(self.renderer.world, entry)
        return self._contents[name]

    def overrides(self, master: str) -> list[Override]:
        """Return the overrides that concern what a snapshot holds."""
        if not self.renderer.overrides:
            return []
        if master not in self._overrides:
            self._overrides[master] = overrides_of_placement(
                self.renderer.overrides,
                subject_of(self.owner),
                self._targets(master),
                self.renderer.is_namespaced,
            )
        return self._overrides[master]

    def asked(self, masters: Iterable[str]) -> Iterator[Question]:
        """Yield what is asked of overrides for what some snapshots hold."""
        for master in set(masters):
            try:
                for target in self._targets(master):
                    own = self.renderer.is_namespaced(target)
                    yield from overrides_read(target, namespaced=own)
            except UserError:
                continue  # the placement is told of, and is looked at again by itself

    def sources(self) -> Iterator[ObjectKey]:
        """Yield what any snapshot holds, and what is in its envelopes."""
        for entry in _entries(self.snapshots):
            yield entry.key
            if is_envelope(entry.body):
                for one in self._unpacked(entry):
                    yield ObjectKey(one.group, one.kind, one.namespace, one.name)

    def warnings(self) -> Iterator[str]:
        """Yield what a person should know."""
        held = entries_of(self.snapshots)
        return missing_namespaces(held, self.renderer.world.inputs, self.owner)

    def _unpacked(self, envelope: SnapshotEntry) -> list[OverrideTarget]:
        """Return what is in an envelope, as far as it can be read."""
        try:
            return list(targets_of(self.content(envelope), self.renderer.is_namespaced))
        except UserError:
            return []

    def _targets(self, master: str) -> Sequence[OverrideTarget]:
        """Return what a snapshot and those that belong to it hold, as overrides name it."""
        if master not in self._held:
            entries = _entries(snapshot_group(master, self.snapshots))
            unpacked = (targets_of(self.content(e), self.renderer.is_namespaced) for e in entries)
            self._held[master] = tuple(chain.from_iterable(unpacked))
        return self._held[master]


def _entries(snapshots: Iterable[Body]) -> Iterator[SnapshotEntry]:
    return chain.from_iterable(map(decode_resources, snapshots))
