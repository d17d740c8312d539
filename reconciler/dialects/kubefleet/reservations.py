"""What placements take of clusters: what each binding brings there, by its resource snapshot."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.kubefleet.api.binding import resource_snapshot_of, target_of
from reconciler.dialects.kubefleet.api.kinds import BINDINGS
from reconciler.dialects.kubefleet.api.resource_snapshot import decode_entry, readable_entries
from reconciler.dialects.kubefleet.snapshots.revision import is_latest
from reconciler.dialects.kubefleet.workgenerator.placement_files import (
    bindings_of,
    snapshots_of,
    snapshots_of_group,
)
from reconciler.dialects.kubefleet.workgenerator.snapshot_content import content_at
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.schedule.capacity.reservation import ClusterDemand
from reconciler.schedule.capacity.workload_pods import demand_of_manifests


@dataclass(slots=True, eq=False)
class PlacementDemands:
    """What the bindings of one placement bring to their clusters.

    Attributes:
        world: As the round found it.
        selected: What a cluster has that is on what is selected now.
    """

    world: World
    selected: ClusterDemand
    _known: dict[tuple[str, str], ClusterDemand] = field(default_factory=dict)

    def of(self, files: Mapping[ObjectKey, Body]) -> dict[str, ClusterDemand]:
        """Return what a placement takes of each cluster that a binding among its files is for."""
        return {
            target_of(body): self.brought(key.namespace, resource_snapshot_of(body))
            for key, body in files.items()
            if key.kind in BINDINGS
        }

    def brought(self, namespace: str, snapshot: str) -> ClusterDemand:
        """Return what a binding brings; one that is on no snapshot yet will be on the latest."""
        if not snapshot:
            return self.selected
        if (namespace, snapshot) not in self._known:
            self._known[namespace, snapshot] = self._content(namespace, snapshot)
        return self._known[namespace, snapshot]

    def _content(self, namespace: str, snapshot: str) -> ClusterDemand:
        """Return what a snapshot holds; the present selection for one that is not there any more.

        Raises:
            UserError: It cannot be read, so what it brought is not known.
        """
        groups = [*snapshots_of_group(self.world, namespace, snapshot)]
        return _held_by(self.world, groups) if groups else self.selected


def placed_by(world: World, placement: ObjectKey) -> dict[str, ClusterDemand]:
    """Return what the bindings of a placement bring to their clusters.

    One that is on no snapshot yet will be on the latest, as is one whose snapshot is gone.

    Raises:
        UserError: A snapshot cannot be read.
    """
    latest = [one for one in snapshots_of(world, placement) if is_latest(one)]
    demands = PlacementDemands(world, _held_by(world, latest))
    return {
        one.target: demands.brought(placement.namespace, one.resource_snapshot)
        for one in bindings_of(world, placement)
    }


def _held_by(world: World, snapshots: Iterable[Body]) -> ClusterDemand:
    entries = [decode_entry(one) for group in snapshots for one in readable_entries(group)]
    return demand_of_manifests((one.key, content_at(world, one)) for one in entries)
