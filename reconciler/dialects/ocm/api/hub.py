"""The hub as its controllers leave it: clusters with their taints, and what stands beside them."""

from collections.abc import Collection
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import AdmittedCluster
from reconciler.dialects.ocm.api.cluster_sets import DEFAULT_SET, SET_LABEL
from reconciler.dialects.ocm.api.clusters import ManagedCluster, decode_cluster, members_of
from reconciler.dialects.ocm.api.condition_taints import condition_taints
from reconciler.dialects.ocm.api.hub_objects import HubObjects
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.manifests.taint_dates import dated, first_seen, taint_record
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.stamps import keep_present
from reconciler.model.world import Manifest


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
