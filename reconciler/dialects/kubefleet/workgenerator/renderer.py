"""What KubeFleet's placements put onto clusters: for each binding what its snapshot holds.

A binding is rendered as the Works of its cluster, as upstream writes them, once overrides were
applied to the resources, cluster by cluster. Renderers of one world after the other share what did
not change.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.member import Members, member_labels
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    CLUSTER,
    NAMESPACE,
    OWNED,
    PLACEMENT_GROUP,
    PLACEMENTS,
    UNSCHEDULED,
    VERSIONS,
    is_placement,
)
from reconciler.dialects.kubefleet.api.placement import abandons, asked_by_strategy, waits_for_runs
from reconciler.dialects.kubefleet.api.snapshots import SnapshotEntry, decode_resources
from reconciler.dialects.kubefleet.rollout.availability import (
    NOT_OVERRIDDEN,
    ROLLED_OUT,
    OverriddenResources,
)
from reconciler.dialects.kubefleet.rollout.rollout import is_announced
from reconciler.dialects.kubefleet.rollout.works import envelope_work_name, work_name, work_of
from reconciler.dialects.kubefleet.snapshots.overrides import (
    OVERRIDES,
    IsNamespaced,
    MemberLabels,
    Override,
    Overrides,
    OverrideTable,
    OverrideVersions,
    PastContent,
    PickedOverrides,
    answered_by,
    apply_overrides,
    decoded,
    overrides_of_cluster,
    overrides_of_placement,
    overrides_read,
    target_of,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import group_index as index_of
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import snapshot_group, subindex_of
from reconciler.dialects.kubefleet.workgenerator.content import (
    LEFT,
    Along,
    PlacementContent,
    bindings_of,
    contents,
    is_envelope,
    namespace_key,
    namespace_work,
    namespaces_along,
    overrides_behind,
    parent_of,
    stored,
)
from reconciler.dialects.kubefleet.workgenerator.content import (
    snapshots_of_placement as snapshots_of,
)
from reconciler.dialects.reads import Question
from reconciler.dialects.reads import cluster_named as named
from reconciler.dialects.renderer import (
    UNKNOWN_OBJECTS,
    Affected,
    ClusterWork,
    NotRendered,
    PlacedContent,
    Reach,
    Rendered,
    fill_work,
)
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import with_value
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, differing_keys
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World
from reconciler.rebalance.surge import STEP, Surge, surge_in


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class MembersByName:
    """The clusters as overrides see them, by name."""

    members: Mapping[ClusterName, MemberLabels]
    names: tuple[ClusterName, ...] = dataclasses.field(init=False)

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
    overrides: Overrides
    along: Mapping[ObjectKey, Along]
    lacking: set[ObjectKey]

    def owners(self) -> Iterable[ObjectKey]:
        """Return the Namespaces that go along, and the placements that a pass has decided."""
        yield from self.along
        kinds = ((PLACEMENT_GROUP, kind) for kind in sorted(PLACEMENTS))
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
        content = self._content(owner)
        bindings = [one for one in bindings_of(self.world, owner) if one.state in LEFT]
        rendered = [one for one in bindings if is_rendered(one)]
        surge = surge_in(output.body)
        each = [
            work if surge is None else _of_step(work, surge)
            for one in rendered
            for work in self._works(one, owner, content)
        ]
        shown = {one.target for one in rendered}
        written = self.world.inputs.get(owner)
        return Rendered(
            path=output.origin.path if written is None else written.origin.path,
            works=tuple(one for one in each if isinstance(one, ClusterWork)),
            failed=tuple(one for one in each if isinstance(one, NotRendered)),
            kept=frozenset(one.target for one in bindings) - shown,
            placed=tuple((name, None) for name in sorted(shown)),
            reads=frozenset(
                (*content.asked(one.resource_snapshot for one in rendered), *map(named, shown))
            ),
        )

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return what the snapshots of a placement hold, for each cluster that may have it."""
        if owner in self.along:
            return dict.fromkeys(self.along[owner], (owner,))
        if owner not in self.world.outputs or not is_placement(owner):
            return {}
        content = self._content(owner)
        own = (namespace_key(owner.namespace),) if owner.namespace else ()
        sources = tuple(sorted({*content.sources(), *own}))
        placed = [one for one in bindings_of(self.world, owner) if one.state in LEFT]
        lost = {one.target for one in placed if self._is_lost(one, content)}
        names = sorted({one.target for one in placed})
        return {name: (*sources, *(UNKNOWN_OBJECTS,) * (name in lost)) for name in names}

    def _is_lost(self, binding: Binding, content: PlacementContent) -> bool:
        """Return whether a binding has put something there that no snapshot holds any more.

        Until its rollout is announced that is what the snapshot before holds.
        """
        masters = {binding.resource_snapshot}
        if not is_rendered(binding):
            masters.add(binding.annotations.get(ROLLED_OUT, ""))
        return not all(map(content.holds, masters - {""}))

    def bringers(self, source: ObjectKey, /) -> Iterable[ObjectKey]:
        """Return the placements whose snapshots hold an object, and a Namespace that goes along."""
        along = (source,) if source in self.along else ()
        own = (key for key in self.owners() if key not in self.along)
        return sorted({*along, *(key for key in own if source in self._content(key).sources())})

    def content(self, source: ObjectKey, /) -> PlacedContent | None:
        """Return the placement that rolls an object out, `None` if there is none."""
        placement = next(iter(self.bringers(source)), None)
        return None if placement is None else PlacedContent(rolled_out_by=placement)

    def unmarked(self, owner: ObjectKey, /) -> Reach:  # noqa: ARG002
        """Return none: what outlives a placement gets its marks once the placement is gone."""
        return {}

    def _content(self, owner: ObjectKey) -> PlacementContent:
        """Return what the snapshots of a placement hold."""
        return PlacementContent(self.world, owner, snapshots_of(self.world, owner), self.overrides)

    def _namespace(self, key: ObjectKey) -> Rendered:
        """Render a Namespace for the clusters that have something of it."""
        written = self.world.inputs[key]
        body, target = stored(written), target_of(written.body)
        overrides = overrides_of_placement(self.overrides, "", (target,), lambda _: False)
        works: list[ClusterWork] = []
        failed: list[NotRendered] = []
        for name in self.along[key]:
            member = self.fleet.members.get(name, MemberLabels(name, {}))
            try:
                picked = overrides_of_cluster(overrides, member)
                overridden = apply_overrides(body, target, picked, member, namespaced=False)
                manifests = {} if overridden is None else {key: overridden}
                wished = self.along[key][name]
                works.append(
                    ClusterWork(
                        cluster=name,
                        carrier=namespace_work(key.name, name),
                        fill=fill_work,
                        manifests=manifests,
                        asked=dict.fromkeys(manifests, wished) if wished else {},
                    )
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
        self, binding: Binding, owner: ObjectKey, content: PlacementContent
    ) -> list[ClusterWork | NotRendered]:
        """Return what the cluster of a binding gets, or why it gets nothing new."""
        member = self.fleet.members.get(binding.target)
        if member is None:
            missing = f'memberclusters.cluster.kubernetes-fleet.io "{binding.target}" not found'
            return [NotRendered(binding.target, missing)]
        try:
            written = self.world.inputs.get(owner)
            versions = binding.annotations.get(VERSIONS, "")
            if versions or (written is not None and waits_for_runs(written.body)):
                picked = OverrideVersions(versions).pick(self.world, binding.overrides).picked
            else:
                matched = content.overrides(binding.resource_snapshot)
                picked = overrides_of_cluster(matched, member)
            rendering = MemberRendering(
                member,
                picked,
                content.content,
                content.is_namespaced,
                abandons=written is not None and abandons(written.body),
            )
            return list(render_binding(binding, content.snapshots, rendering))
        except UserError as error:
            if isinstance(error, PastContent):
                self.lacking.add(owner)
            return [NotRendered(binding.target, error.message)]


def _of_step(work: ClusterWork | NotRendered, surge: Surge) -> ClusterWork | NotRendered:
    """Return what a cluster gets, with the moment of the step if that made it."""
    step = surge.step_on(work.cluster)
    if not step or isinstance(work, NotRendered):
        return work
    marked = {
        key: with_value(body, ("metadata", "annotations", STEP), step)
        for key, body in work.manifests.items()
    }
    return replace(work, manifests=marked)


REMEMBERED = 3
"""Worlds: that a pass leaves, that it found, and that the pass before left."""


@dataclass(slots=True, eq=False)
class KubeFleetRenderers:
    """The renderers of one world after the other, which share what did not change."""

    overrides: OverrideTable = field(default_factory=OverrideTable)
    fleet: AnswerCache[None, MembersByName] = field(default_factory=AnswerCache)
    _lacking: list[tuple[World, set[ObjectKey]]] = field(default_factory=list)

    def of(self, world: World, settings: Settings, /) -> KubeFleetRenderer:  # noqa: ARG002
        """Return the renderer of a world."""
        overrides = self.overrides.of(world)
        clusters = world.of_kind(*CLUSTER)
        fleet = self.fleet.recall(None, (clusters,), partial(_fleet, clusters))
        self.fleet.forget()
        along = namespaces_along(world)
        return KubeFleetRenderer(world, fleet, overrides, along, self._lacking_in(world))

    def _lacking_in(self, world: World) -> set[ObjectKey]:
        """Return the placements that lacked content in a world, to be noted there."""
        lacking = next((noted for known, noted in self._lacking if known is world), None)
        if lacking is None:
            lacking = set()
            self._lacking = [*self._lacking[1 - REMEMBERED :], (world, lacking)]
        return lacking

    def affected(self, before: World, now: World, /) -> Affected | None:
        """Return the placements whose files changed, and those that lacked content.

        All of them if the scope of a kind changed.
        """
        if before.known != now.known:
            return None
        changed = differing_keys(now.inputs, before.inputs)
        namespaces = [key for key in changed if key[:2] == NAMESPACE]
        written = frozenset(filter(is_placement, changed))
        owners = {*written, *namespaces, *self._lacking_in(before)}
        questions: list[Question] = []
        for key in changed:
            versions = (before.inputs.get(key), now.inputs.get(key))
            questions += _questions(key, [one for one in versions if one is not None])
        return Affected(owners | _rendered_anew(before, now, written), questions)


def _questions(key: ObjectKey, versions: list[Manifest]) -> Iterator[Question]:
    """Yield what an input answers otherwise, given it as it was and as it is."""
    if key[:2] in OVERRIDES:
        for version in versions:
            yield from answered_by(decoded(version))
    elif key[:2] == CLUSTER:
        labels = [member_labels(one.body) for one in versions]
        if len(labels) == 1 or labels[0] != labels[1]:
            yield named(key.name)


def _rendered_anew(before: World, now: World, written: Collection[ObjectKey]) -> set[ObjectKey]:
    """Return the placements of which a file changed, and Namespaces that go otherwise along.

    Args:
        before: A world.
        now: A later one.
        written: The placements that people changed.
    """
    owners: set[ObjectKey] = set()
    for key in differing_keys(now.outputs, before.outputs):
        if is_placement(key):
            owners.add(key)
        elif key.group == PLACEMENT_GROUP and key.kind in OWNED:
            versions = (before.outputs.get(key), now.outputs.get(key))
            owners.update(parent_of(one) for one in versions if one is not None)
    if owners or written:
        then, since = namespaces_along(before), namespaces_along(now)
        owners |= {key for key in (*then, *since) if then.get(key) != since.get(key)}
    return owners


def _fleet(clusters: Iterable[Manifest]) -> MembersByName:
    """Return the clusters of a world as overrides see them."""
    views = ((ClusterName(one.key.name), member_labels(one.body)) for one in clusters)
    return MembersByName({name: MemberLabels(name, labels) for name, labels in views})


OVERRIDDEN_FAILED = "Failed to apply the override rules on the resources: "
NOT_SYNCHRONIZED = "Failed to synchronize the work to the latest: "


@dataclass(frozen=True, slots=True)
class MemberRendering:
    """What rendering asks beside a binding.

    Attributes:
        member: Its cluster.
        overrides: Those that are picked for the cluster, in their order.
        content: Returns the object that an entry of a snapshot stands for.
        is_namespaced: Whether an object is of a namespaced kind.
        abandons: Whether what is on clusters is to outlive the placement.
    """

    member: MemberLabels
    overrides: Sequence[Override]
    content: Callable[[SnapshotEntry], Body]
    is_namespaced: IsNamespaced
    abandons: bool = False


def is_rendered(binding: Binding) -> bool:
    """Return whether Works are written for a binding: its rollout has been announced.

    One that is leaving keeps its resources until it is gone.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `Reconcile`.
    """
    if not binding.resource_snapshot or binding.deleting:
        return False
    return binding.state == UNSCHEDULED or (binding.state == BOUND and is_announced(binding))


def render_binding(
    binding: Binding, snapshots: Iterable[Body], rendering: MemberRendering
) -> list[ClusterWork]:
    """Return the Works of a binding; a snapshot has one, and each envelope in it.

    Args:
        binding: One that is rendered.
        snapshots: The resource snapshots of its placement.
        rendering: All else.

    Raises:
        UserError: An override does not fit, or something is missing: the cluster gets nothing new.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `syncAllWork`.
    """
    try:
        group = snapshot_group(binding.resource_snapshot, snapshots)
    except UserError as error:
        raise UserError(f"{OVERRIDDEN_FAILED}{error.message}") from error
    return [work for snapshot in group for work in _works(binding, snapshot, rendering)]


def _works(binding: Binding, snapshot: Body, rendering: MemberRendering) -> Iterator[ClusterWork]:
    """Yield the Work of a snapshot, then those of the envelopes in it."""
    name, index = work_name(binding, subindex_of(snapshot)), index_of(snapshot)
    listed = [rendering.content(one) for one in decode_resources(snapshot)]
    plain = [one for one in listed if not is_envelope(one)]
    yield _work(binding, name, index, plain, rendering, None)
    for envelope in listed:
        if is_envelope(envelope):
            own = envelope_work_name(name, envelope)
            yield _work(binding, own, index, _unpacked(envelope), rendering, envelope)


def _unpacked(envelope: Body) -> list[Body]:
    try:
        return contents(envelope)
    except UserError as error:
        raise UserError(f"{NOT_SYNCHRONIZED}{error.message}") from error


def _work(
    binding: Binding,
    name: str,
    index: str,
    listed: Iterable[Body],
    rendering: MemberRendering,
    envelope: Body | None,
) -> ClusterWork:
    """Return a Work, with what overrides leave of its objects."""
    manifests: dict[ObjectKey, Body] = {}
    for manifest in listed:
        target = target_of(manifest)
        try:
            overridden = apply_overrides(
                manifest,
                target,
                rendering.overrides,
                rendering.member,
                namespaced=rendering.is_namespaced(target),
            )
        except UserError as error:
            raise UserError(f"{OVERRIDDEN_FAILED}{error.message}") from error
        if overridden is not None:
            key = ObjectKey(target.group, target.kind, target.namespace, target.name)
            manifests[key] = overridden
    carrier = work_of(binding, name, index, rendering.overrides, envelope)
    asked = asked_by_strategy(binding.apply_strategy or {}, abandons=rendering.abandons)
    return ClusterWork(
        cluster=binding.target,
        carrier=carrier,
        fill=fill_work,
        manifests=manifests,
        asked=dict.fromkeys(manifests, asked) if asked else {},
    )


@dataclass(slots=True, eq=False)
class PlacementOverriding:
    """Applies the overrides of one placement; each binding is rendered once a snapshot.

    What cannot be told, since content of an earlier version is gone, is no failure: delivery says
    so of the cluster.

    Attributes:
        world: Where content is read from.
        owner: The placement.
        overrides: All overrides.
        members: The fleet.
    """

    world: World
    owner: ObjectKey
    overrides: Overrides
    members: Members
    _found: dict[tuple[ClusterName, str], OverriddenResources] = field(default_factory=dict)

    def __call__(self, binding: Binding, snapshots: Sequence[Body]) -> OverriddenResources:
        """Return what overrides make of a binding's resources, those that a run held if any did."""
        held = binding.state in (BOUND, UNSCHEDULED) and self._waits_for_runs()
        if not (binding.overrides if held else self.overrides):
            return NOT_OVERRIDDEN
        member = self._member(binding.target)
        if member is None:
            return NOT_OVERRIDDEN
        if held:
            return self._held(binding, snapshots, member)
        asked = binding.target, binding.resource_snapshot
        if asked not in self._found:
            self._found[asked] = self._applied(binding, snapshots, member)
        return self._found[asked]

    def versions(self, lists: Body) -> str:
        """Return of which versions those of a list are as they are now, as a note."""
        return OverrideVersions("").pick(self.world, lists).versions

    def behind(self, bindings: Iterable[Binding], snapshots: Sequence[Body]) -> set[ObjectKey]:
        """Return those that a run would bring otherwise than bindings have them."""
        content = PlacementContent(self.world, self.owner, snapshots, self.overrides)
        found = (overrides_behind(content, one, self._member(one.target)) for one in bindings)
        return set[ObjectKey]().union(*found)

    def _waits_for_runs(self) -> bool:
        """Return whether the placement is rolled out by runs only."""
        written = self.world.inputs.get(self.owner)
        return written is not None and waits_for_runs(written.body)

    def _held(
        self, binding: Binding, snapshots: Sequence[Body], member: MemberLabels
    ) -> OverriddenResources:
        """Return what the overrides make of it that a run brought there."""
        content = PlacementContent(self.world, self.owner, snapshots, self.overrides)
        lists, versions = binding.overrides, binding.annotations.get(VERSIONS, "")
        failure = ""
        try:
            held = OverrideVersions(versions).pick(self.world, lists)
            lists, versions = held.lists, held.versions
            known = content.content, content.is_namespaced
            render_binding(binding, snapshots, MemberRendering(member, held.picked, *known))
        except PastContent:
            pass
        except UserError as error:
            failure = _failure(error.message)
        return OverriddenResources(lists, failure, versions)

    def _member(self, name: ClusterName) -> MemberLabels | None:
        """Return a cluster as overrides see it, `None` if it is gone."""
        position = self.members.fleet.position.get(name)
        if position is None:
            return None
        return MemberLabels(name, self.members.views[position].cluster.labels)

    def _applied(
        self, binding: Binding, snapshots: Sequence[Body], member: MemberLabels
    ) -> OverriddenResources:
        content = PlacementContent(self.world, self.owner, snapshots, self.overrides)
        picked: list[Override] = []
        try:
            picked = overrides_of_cluster(content.overrides(binding.resource_snapshot), member)
            if picked:
                rendering = MemberRendering(member, picked, content.content, content.is_namespaced)
                render_binding(binding, snapshots, rendering)
        except PastContent:
            pass
        except UserError as error:
            return OverriddenResources(PickedOverrides(picked).lists, _failure(error.message))
        return OverriddenResources(PickedOverrides(picked).lists) if picked else NOT_OVERRIDDEN


def _failure(message: str) -> str:
    """Return why overrides fail, `""` if it is not they that do."""
    if message.startswith(NOT_SYNCHRONIZED):
        return ""
    return message if message.startswith(OVERRIDDEN_FAILED) else f"{OVERRIDDEN_FAILED}{message}"
