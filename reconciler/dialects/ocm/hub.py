"""The hub as its controllers leave it: clusters with their taints, and what stands beside them.

The hub of the last pass is drawn only where it differs, and only for causes: no decision looks at
it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from reconciler.dialects.inventory import AdmittedCluster, ClusterInventory, Earlier, views_before
from reconciler.dialects.ocm.api.cluster import (
    DEFAULT_SET,
    SET_BINDINGS,
    SET_LABEL,
    SETS,
    HubObjects,
    ManagedCluster,
    bindings_of,
    condition_taints,
    decode_cluster,
    members_of,
    sets_of,
)
from reconciler.dialects.ocm.api.placement import CLUSTER
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.scheduler.schedule import Hub
from reconciler.dialects.scores import Reports, scores_before
from reconciler.manifests.admission import dated, first_seen, taint_record
from reconciler.model.body import Body, keep_present
from reconciler.model.fields import bodies, mapping
from reconciler.model.kinds import Kind
from reconciler.model.world import Manifest, World


def admit_cluster(
    manifest: Manifest, output: Manifest | None, *, declared: bool, now: datetime
) -> AdmittedCluster[ManagedCluster]:
    """Date the taints of one cluster, among them those that follow from its conditions.

    Args:
        manifest: The cluster.
        output: Its status file, `None` if there is none.
        declared: Whether a cluster without any status is available.
        now: Moment that dates taints first seen in this pass.
    """
    taints = [
        *bodies(mapping(manifest.body, "spec"), "taints"),
        *condition_taints(manifest.body, declared=declared),
    ]
    added_at = first_seen(taints, output, now)
    present = output.body if output is not None else None
    record = keep_present(taint_record(manifest, added_at), present) if added_at else None
    view = decode_cluster(_registered(manifest.body, dated(taints, added_at)))
    return AdmittedCluster(view, record)


def hub_of(views: Collection[ManagedCluster], objects: HubObjects, memory: OcmMemory) -> Hub:
    """Return the hub with these clusters, the same one as before if nothing of it differs."""
    members = memory.fleet.recall(None, tuple(views), partial(members_of, views))
    parts = (members, objects.sets, objects.bindings, objects.reports)
    return memory.hub.recall(None, parts, partial(Hub, *parts))


def _registered(body: Body, taints: list[Body]) -> Body:
    """Return a cluster as the hub admits it: with all its taints, in the default set if in none.

    Source: ocm@00f84c3 pkg/registration/webhook/v1/managedcluster_mutating.go `Default`.
    """
    metadata = mapping(body, "metadata")
    labels = mapping(metadata, "labels")
    if not labels.get(SET_LABEL):
        metadata = {**metadata, "labels": {**labels, SET_LABEL: DEFAULT_SET}}
    return {**body, "metadata": metadata, "spec": {**mapping(body, "spec"), "taints": taints}}


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
