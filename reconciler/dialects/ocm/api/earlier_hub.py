"""The hub as it was at the last pass, where it differs: for causes, no decision looks at it."""

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.dialects.cluster_inventory import (
    AdmittedCluster,
    ClusterInventory,
    Earlier,
    views_before,
)
from reconciler.dialects.ocm.api.clusters import ManagedCluster, members_of
from reconciler.dialects.ocm.api.groups import CLUSTER
from reconciler.dialects.ocm.api.hub_objects import (
    SET_BINDINGS,
    SETS,
    bindings_of,
    sets_of,
)
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.scores.reports import Reports, scores_before
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest, World

Admit = Callable[[Manifest, Manifest | None], AdmittedCluster[ManagedCluster]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubBefore:
    """The hub of the last pass: its clusters and sets, and its scores; `None` for the same."""

    clusters: Earlier[Hub] | None = None
    scores: Earlier[Reports] | None = None


def hub_before(
    world: World, hub: Hub, inventory: ClusterInventory[ManagedCluster], admit: Admit
) -> HubBefore:
    """Return what of the hub is not as it was.

    Args:
        world: Its `earlier` tells what differs.
        hub: As it is.
        inventory: Its clusters.
        admit: Makes a view of a cluster and its status file.
    """
    clusters = tuple(world.earlier_of([CLUSTER, SETS, SET_BINDINGS]))

    def draw() -> Hub:
        views = views_before(world, CLUSTER, inventory.views, admit)
        return Hub(
            members=members_of(views.values()),
            sets=sets_of(_before(world, SETS)),
            bindings=bindings_of(_before(world, SET_BINDINGS)),
            reports=hub.reports,
        )

    return HubBefore(
        clusters=Earlier(clusters, draw) if clusters else None,
        scores=scores_before(world),
    )


def _before(world: World, kind: Kind) -> tuple[Manifest, ...]:
    """Return the manifests of a kind as they were at the last pass, sorted."""
    found = {one.key: one for one in world.of_kind(*kind)}
    for key, manifest in world.earlier_of([kind]).items():
        found.pop(key, None)
        if manifest is not None:
            found[key] = manifest
    return tuple(found[key] for key in sorted(found))
