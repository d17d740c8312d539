"""The hub as its controllers leave it: clusters with their taints, sets, bindings, scores."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import AdmittedCluster
from reconciler.dialects.ocm.api.cluster_sets import (
    DEFAULT_SET,
    IMPLICIT,
    SET_LABEL,
    SetBinding,
    decode_set,
    decode_set_binding,
)
from reconciler.dialects.ocm.api.clusters import ManagedCluster, decode_cluster, members_of
from reconciler.dialects.ocm.api.condition_taints import condition_taints
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.scheduler.request import PluginReport, decode_report
from reconciler.manifests.taint_dates import dated, first_seen, taint_record
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.known_kinds import Kind
from reconciler.model.stamps import keep_present
from reconciler.model.world import Manifest, World

CLUSTER = (GROUP, "ManagedCluster")
SETS = (GROUP, "ManagedClusterSet")
SET_BINDINGS = (GROUP, "ManagedClusterSetBinding")
SCORES = (GROUP, "AddOnPlacementScore")


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


def hub_of(world: World, views: Collection[ManagedCluster], memory: OcmMemory) -> Hub:
    """Return the hub with these clusters, the same one as before if nothing of it differs."""
    manifests = {kind: world.of_kind(*kind) for kind in (SETS, SET_BINDINGS, SCORES)}
    return drawn_hub(manifests, views, memory)


def drawn_hub(
    manifests: Mapping[Kind, tuple[Manifest, ...]],
    views: Collection[ManagedCluster],
    memory: OcmMemory,
) -> Hub:
    """Return the hub of clusters and of the manifests of the other kinds."""
    members = memory.fleet.recall(None, tuple(views), partial(members_of, views))
    sets = [
        memory.sets.recall(manifest.key, (manifest.body,), partial(decode_set, manifest.body))
        for manifest in manifests[SETS]
    ]
    bindings = tuple(
        memory.bindings.recall(manifest.key, (manifest.body,), partial(_binding, manifest))
        for manifest in manifests[SET_BINDINGS]
    )
    reports = decode_reports(manifests[SCORES], memory)
    draw = partial(
        Hub,
        members=members,
        sets={**IMPLICIT, **{item.name: item for item in sets}},
        bindings=bindings,
        reports=reports,
    )
    return memory.hub.recall(None, (members, *sets, *bindings, *reports.values()), draw)


def decode_reports(
    manifests: tuple[Manifest, ...], memory: OcmMemory
) -> dict[tuple[str, str], PluginReport]:
    """Return the scores by cluster and name."""
    return {
        (manifest.key.namespace, manifest.key.name): memory.reports.recall(
            manifest.key, (manifest.body,), partial(decode_report, manifest.body)
        )
        for manifest in manifests
    }


def _binding(manifest: Manifest) -> SetBinding:
    """Decode the binding of a set."""
    return decode_set_binding(_placed(manifest))


def _placed(manifest: Manifest) -> Body:
    """Return a body with the namespace that it has, written or not."""
    metadata = mapping(manifest.body, "metadata")
    return {**manifest.body, "metadata": {**metadata, "namespace": manifest.key.namespace}}


def _registered(body: Body, taints: list[Body]) -> Body:
    """Return a cluster as the hub admits it: with all its taints, in the default set if in none.

    Source: ocm@00f84c3 pkg/registration/webhook/v1/managedcluster_mutating.go `Default`.
    """
    metadata = mapping(body, "metadata")
    labels = mapping(metadata, "labels")
    if not labels.get(SET_LABEL):
        metadata = {**metadata, "labels": {**labels, SET_LABEL: DEFAULT_SET}}
    return {**body, "metadata": metadata, "spec": {**mapping(body, "spec"), "taints": taints}}
