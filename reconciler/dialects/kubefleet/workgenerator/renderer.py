"""What KubeFleet's placements put onto clusters: for each binding what its snapshot holds."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.kinds import OWNED, PLACEMENTS, subject_of
from reconciler.dialects.kubefleet.api.names import BOUND, GROUP, UNSCHEDULED
from reconciler.dialects.kubefleet.overrider.matching import (
    overrides_of_cluster,
    overrides_of_placement,
)
from reconciler.dialects.kubefleet.overrider.override import (
    MemberLabels,
    Override,
    OverrideTarget,
    decode_override,
)
from reconciler.dialects.kubefleet.snapshots.resource_entry import resource_key
from reconciler.dialects.kubefleet.workgenerator.envelopes import is_envelope, targets_of
from reconciler.dialects.kubefleet.workgenerator.placement_files import (
    bindings_of,
    parent_of,
    snapshots_of,
)
from reconciler.dialects.kubefleet.workgenerator.render import (
    RESOURCES,
    MemberRendering,
    is_rendered,
    render_binding,
)
from reconciler.dialects.kubefleet.workgenerator.snapshot_content import (
    PastContent,
    content_at,
)
from reconciler.dialects.kubefleet.workgenerator.snapshot_group import snapshot_group
from reconciler.dialects.renderer import ClusterWork, NotRendered, Reach, Rendered
from reconciler.errors import UserError
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.keyed_cache import AnswerCache, forget
from reconciler.model.known_kinds import Kind
from reconciler.model.labels import labels_of
from reconciler.model.settings import Settings
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Body, Manifest, World

CLUSTER: Kind = ("cluster.kubernetes-fleet.io", "MemberCluster")
OVERRIDES: tuple[Kind, ...] = ((GROUP, "ClusterResourceOverride"), (GROUP, "ResourceOverride"))
LEFT = (BOUND, UNSCHEDULED)
FIRST_INDEX = 0
"""Of the snapshot of an override; here there is one, since a change applies at once."""


@dataclass(frozen=True, slots=True)
class KubeFleetRenderer:
    """The placements of one world, and what rendering asks beside them.

    Attributes:
        world: As a pass leaves it.
        members: The clusters as overrides see them, by name.
        overrides: All of them, sorted by namespace and name.
        lacking: Placements of which an earlier version of an object is missing, noted for later.
    """

    world: World
    members: Mapping[str, MemberLabels]
    overrides: tuple[Override, ...]
    lacking: set[ObjectKey]

    def owners(self) -> Iterable[ObjectKey]:
        """Return the placements that a pass has decided."""
        kinds = ((GROUP, kind) for kind in sorted(PLACEMENTS))
        return (one.key for one in self.world.outputs_of(kinds))

    def clusters(self) -> Iterable[ClusterName]:
        """Return the names of the fleet."""
        return (one.name for _, one in sorted(self.members.items()))

    def render(self, owner: ObjectKey, /) -> Rendered | None:
        """Render each binding of a placement."""
        output = self.world.outputs.get(owner)
        if output is None or not _is_placement(owner):
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
            placed=tuple((name, 0) for name in sorted(shown)),
        )

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return what the snapshots of a placement hold, for each cluster that may have it."""
        if owner not in self.world.outputs or not _is_placement(owner):
            return {}
        found = _PlacementContent(self, owner)
        sources = tuple(sorted(set(found.sources())))
        names = sorted({one.target for one in bindings_of(self.world, owner) if one.state in LEFT})
        return dict.fromkeys(names, sources)

    def is_namespaced(self, target: OverrideTarget) -> bool:
        """Return whether an object is of a namespaced kind; one of no known kind says it itself."""
        return self.world.known.scopes.get((target.group, target.kind), bool(target.namespace))

    def _works(
        self, binding: Binding, owner: ObjectKey, found: "_PlacementContent"
    ) -> list[ClusterWork | NotRendered]:
        """Return what the cluster of a binding gets, or why it gets nothing new."""
        member = self.members.get(binding.target)
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

    def __post_init__(self) -> None:
        self.snapshots = snapshots_of(self.renderer.world, self.owner)

    def content(self, entry: Body) -> Body:
        """Return the object that an entry of a snapshot stands for."""
        name = resource_key(entry), str(entry.get("hash"))
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

    def sources(self) -> Iterator[ObjectKey]:
        """Yield what any snapshot holds, and what is in its envelopes."""
        for entry in _entries(self.snapshots):
            yield resource_key(entry)
            if is_envelope(entry):
                for one in self._unpacked(entry):
                    yield ObjectKey(one.group, one.kind, one.namespace, one.name)

    def _unpacked(self, envelope: Body) -> list[OverrideTarget]:
        """Return what is in an envelope, as far as it can be read."""
        try:
            return list(targets_of(self.content(envelope), self.renderer.is_namespaced))
        except UserError:
            return []

    def _targets(self, master: str) -> Iterator[OverrideTarget]:
        for entry in _entries(snapshot_group(master, self.snapshots)):
            yield from targets_of(self.content(entry), self.renderer.is_namespaced)


def _entries(snapshots: Iterable[Body]) -> Iterator[Body]:
    return chain.from_iterable(bodies(mapping(one, "spec"), RESOURCES) for one in snapshots)


@dataclass(slots=True, eq=False)
class KubeFleetRenderers:
    """The renderers of one world after the other, which share what did not change."""

    found: AnswerCache[None, tuple[Override, ...]] = field(default_factory=AnswerCache)
    lacking: set[ObjectKey] = field(default_factory=set)

    def of(self, world: World, settings: Settings, /) -> KubeFleetRenderer:  # noqa: ARG002
        """Return the renderer of a world."""
        written = tuple(world.of_kind(*kind) for kind in OVERRIDES)
        overrides = self.found.recall(
            None, written, lambda: tuple(_decoded(chain.from_iterable(written)))
        )
        forget(self)
        return KubeFleetRenderer(world, _members(world), overrides, self.lacking)

    def affected(self, before: World, now: World, /) -> Collection[ObjectKey] | None:
        """Return the placements whose files changed, and those that lacked content.

        All of them if an override, a cluster's labels or the scope of a kind changed.
        """
        if any(before.of_kind(*kind) is not now.of_kind(*kind) for kind in OVERRIDES):
            return None
        if before.known != now.known or _members(before) != _members(now):
            return None
        changed = differing_keys(now.inputs, before.inputs)
        found = set(filter(_is_placement, changed))
        for key in differing_keys(now.outputs, before.outputs):
            if _is_placement(key):
                found.add(key)
            elif key.group == GROUP and key.kind in OWNED:
                versions = (before.outputs.get(key), now.outputs.get(key))
                found.update(parent_of(one) for one in versions if one is not None)
        return found | self.lacking


def _is_placement(key: ObjectKey) -> bool:
    return key.group == GROUP and key.kind in PLACEMENTS


def _members(world: World) -> dict[str, MemberLabels]:
    """Return the clusters of a world as overrides see them, by name."""
    return {
        one.key.name: MemberLabels(ClusterName(one.key.name), labels_of(one.body))
        for one in world.of_kind(*CLUSTER)
    }


def _decoded(manifests: Iterable[Manifest]) -> Iterator[Override]:
    """Yield the overrides, sorted by namespace and name.

    Unlike upstream: each is as if it had never been another one, and a change of it applies at
    once, while upstream rolls it out like a change of resources.
    """
    for one in manifests:
        snapshot = f"{one.key.name}-{FIRST_INDEX}"
        yield decode_override(one.key, mapping(one.body, "spec"), snapshot)
