"""What KubeFleet's placements put onto clusters: for each binding what its snapshot holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.cluster_reads import named
from reconciler.dialects.kubefleet.api.asked import abandons
from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS, is_placement
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.overrider.apply_overrides import apply_overrides
from reconciler.dialects.kubefleet.overrider.matching import (
    overrides_of_cluster,
    overrides_of_placement,
    target_of,
)
from reconciler.dialects.kubefleet.overrider.override import MemberLabels
from reconciler.dialects.kubefleet.overrider.override_reads import overrides_read
from reconciler.dialects.kubefleet.overrider.override_table import Overrides
from reconciler.dialects.kubefleet.rollout.availability import ROLLED_OUT
from reconciler.dialects.kubefleet.workgenerator.namespaces import (
    LEFT,
    Along,
    namespace_key,
    namespace_work,
)
from reconciler.dialects.kubefleet.workgenerator.placement_content import PlacementContent
from reconciler.dialects.kubefleet.workgenerator.placement_files import (
    bindings_of,
    snapshots_of,
)
from reconciler.dialects.kubefleet.workgenerator.render import (
    MemberRendering,
    is_rendered,
    render_binding,
)
from reconciler.dialects.kubefleet.workgenerator.snapshot_content import (
    PastContent,
    stored,
)
from reconciler.dialects.renderer import (
    UNKNOWN_OBJECTS,
    ClusterWork,
    NotRendered,
    Reach,
    Rendered,
)
from reconciler.dialects.work_spec import fill_work
from reconciler.errors import UserError
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
    overrides: Overrides
    along: Mapping[ObjectKey, Along]
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
        found = self._content(owner)
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
        found = self._content(owner)
        own = (namespace_key(owner.namespace),) if owner.namespace else ()
        sources = tuple(sorted({*found.sources(), *own}))
        placed = [one for one in bindings_of(self.world, owner) if one.state in LEFT]
        lost = {one.target for one in placed if self._is_lost(one, found)}
        names = sorted({one.target for one in placed})
        return {name: (*sources, *(UNKNOWN_OBJECTS,) * (name in lost)) for name in names}

    def _is_lost(self, binding: Binding, found: PlacementContent) -> bool:
        """Return whether a binding has put something there that no snapshot holds any more.

        Until its rollout is announced that is what the snapshot before holds.
        """
        masters = {binding.resource_snapshot}
        if not is_rendered(binding):
            masters.add(binding.annotations.get(ROLLED_OUT, ""))
        return not all(map(found.holds, masters - {""}))

    def bringers(self, source: ObjectKey, /) -> Iterable[ObjectKey]:
        """Return the placements whose snapshots hold an object, and a Namespace that goes along."""
        along = (source,) if source in self.along else ()
        own = (key for key in self.owners() if key not in self.along)
        return sorted({*along, *(key for key in own if source in self._content(key).sources())})

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
                found = apply_overrides(body, target, picked, member, namespaced=False)
                manifests = {} if found is None else {key: found}
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
        self, binding: Binding, owner: ObjectKey, found: PlacementContent
    ) -> list[ClusterWork | NotRendered]:
        """Return what the cluster of a binding gets, or why it gets nothing new."""
        member = self.fleet.members.get(binding.target)
        if member is None:
            missing = f'memberclusters.cluster.kubernetes-fleet.io "{binding.target}" not found'
            return [NotRendered(binding.target, missing)]
        try:
            matched = found.overrides(binding.resource_snapshot)
            picked = overrides_of_cluster(matched, member)
            written = self.world.inputs.get(owner)
            rendering = MemberRendering(
                member,
                picked,
                found.content,
                found.is_namespaced,
                abandons=written is not None and abandons(written.body),
            )
            return list(render_binding(binding, found.snapshots, rendering))
        except UserError as error:
            if isinstance(error, PastContent):
                self.lacking.add(owner)
            return [NotRendered(binding.target, error.message)]
