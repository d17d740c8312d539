"""The hub as it was at the last pass, where it differs: for causes, no decision looks at it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from reconciler.dialects.cluster_inventory import (
    AdmittedCluster,
    ClusterInventory,
    Earlier,
    views_before,
)
from reconciler.dialects.ocm.api.clusters import ManagedCluster
from reconciler.dialects.ocm.api.hub import (
    CLUSTER,
    SCORES,
    SET_BINDINGS,
    SETS,
    decode_reports,
    drawn_hub,
)
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.scheduler.request import Reports
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
    scores = tuple(world.earlier_of([SCORES]))

    def draw() -> Hub:
        views = views_before(world, CLUSTER, inventory.views, admit)
        manifests = {kind: _before(world, kind) for kind in (SETS, SET_BINDINGS)}
        drawn = drawn_hub({**manifests, SCORES: ()}, list(views.values()), OcmMemory())
        return replace(drawn, reports=hub.reports)

    return HubBefore(
        clusters=Earlier(clusters, draw) if clusters else None,
        scores=Earlier(scores, partial(_reports_before, world)) if scores else None,
    )


def _reports_before(world: World) -> Reports:
    """Return the scores of the last pass."""
    return decode_reports(_before(world, SCORES), OcmMemory())


def _before(world: World, kind: Kind) -> tuple[Manifest, ...]:
    """Return the manifests of a kind as they were at the last pass, sorted."""
    found = {one.key: one for one in world.of_kind(*kind)}
    for key, manifest in world.earlier_of([kind]).items():
        found.pop(key, None)
        if manifest is not None:
            found[key] = manifest
    return tuple(found[key] for key in sorted(found))
