"""What overrides make of the resources of one placement, cluster by cluster, before delivery."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.overrider.matching import overrides_of_cluster, snapshots_of
from reconciler.dialects.kubefleet.overrider.override import MemberLabels, Override
from reconciler.dialects.kubefleet.overrider.override_table import Overrides
from reconciler.dialects.kubefleet.rollout.overridden import NOT_OVERRIDDEN, OverriddenResources
from reconciler.dialects.kubefleet.workgenerator.placement_content import PlacementContent
from reconciler.dialects.kubefleet.workgenerator.render import (
    NOT_SYNCHRONIZED,
    OVERRIDDEN_FAILED,
    MemberRendering,
    render_binding,
)
from reconciler.dialects.kubefleet.workgenerator.snapshot_content import PastContent
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World


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
        """Return what overrides make of a binding's resources."""
        if not self.overrides:
            return NOT_OVERRIDDEN
        member = self._member(binding.target)
        if member is None:
            return NOT_OVERRIDDEN
        asked = binding.target, binding.resource_snapshot
        if asked not in self._found:
            self._found[asked] = self._applied(binding, snapshots, member)
        return self._found[asked]

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
            return OverriddenResources(_lists(picked), _failure(error.message))
        return OverriddenResources(_lists(picked)) if picked else NOT_OVERRIDDEN


def _failure(message: str) -> str:
    """Return why overrides fail, `""` if it is not they that do."""
    if message.startswith(NOT_SYNCHRONIZED):
        return ""
    return message if message.startswith(OVERRIDDEN_FAILED) else f"{OVERRIDDEN_FAILED}{message}"


def _lists(picked: Sequence[Override]) -> Body:
    """Return overrides as a binding's spec lists them.

    Source: kubefleet@e160c1c apis/placement/v1beta1/binding_types.go `ResourceBindingSpec`.
    """
    fleet, own = snapshots_of(picked)
    return {
        **({"clusterResourceOverrideSnapshots": fleet} if fleet else {}),
        **({"resourceOverrideSnapshots": own} if own else {}),
    }
