"""The clusters as their controllers leave them: taints dated, conditions turned into taints.

Upstream writes these taints into the Cluster. Here a person's file is never rewritten: taints that
follow from conditions are derived at each pass, and a taint without `timeAdded` is dated once, in
the cluster's status file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from reconciler.dialects.karmada.memory import KarmadaMemory, TakenBinding
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt, place_of
from reconciler.manifests.taint_dates import dated, first_seen, taint_id, taint_record
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.stamps import keep_present
from reconciler.model.world import Body, Manifest, World

GROUP = "cluster.karmada.io"
KIND = "Cluster"
NOT_READY = "cluster.karmada.io/not-ready"
UNREACHABLE = "cluster.karmada.io/unreachable"


@dataclass(frozen=True, slots=True)
class Inventory:
    """Cluster manifests by name with all their taints, and the status files that date them.

    `places` are those of the manifests; `failed` are the clusters that cannot be made sense of.
    """

    clusters: Mapping[str, Body]
    records: Mapping[ObjectKey, Body]
    places: Mapping[str, FaultPlace]
    failed: Mapping[str, Failed]


def take_inventory(
    world: World, memory: KarmadaMemory, *, failover: bool, now: datetime
) -> Inventory:
    """Return the clusters of the repository.

    Args:
        world: Its inputs hold the clusters, its outputs the dates of taints.
        memory: What earlier rounds found.
        failover: Whether a failing cluster gets a NoExecute taint, too.
        now: Moment that dates taints first seen in this pass.
    """
    clusters: dict[str, Body] = {}
    records: dict[ObjectKey, Body] = {}
    failed: dict[str, Failed] = {}
    for manifest in world.of_kind(GROUP, KIND):
        key, output = manifest.key, world.outputs.get(manifest.key)
        present = output.body if output is not None else None
        cache_key = (manifest.body, present, failover)
        taken = memory.clusters.find(key.name, cache_key)
        if taken is None:
            draw = partial(_take, manifest, output, failover=failover, now=now)
            drawn = attempt(draw, place_of(manifest))
            if isinstance(drawn, Failed):
                failed[key.name] = drawn
                records |= {} if present is None else {key: present}
                continue
            taken = drawn
            if taken.record is None or taken.record is present:
                memory.clusters.keep(key.name, cache_key, taken)
        clusters[key.name] = taken.body
        if taken.record is not None:
            records[key] = taken.record
    places = {one.key.name: place_of(one) for one in world.of_kind(GROUP, KIND)}
    return Inventory(clusters, records, places, failed)


def _take(
    manifest: Manifest, output: Manifest | None, *, failover: bool, now: datetime
) -> TakenBinding:
    """Date the taints of one cluster, and add those that follow from its conditions."""
    written = bodies(mapping(manifest.body, "spec"), "taints")
    added_at = first_seen(written, output, now)
    taints = [*dated(written, added_at), *_condition_taints(manifest.body, failover)]
    spec = {**mapping(manifest.body, "spec"), "taints": taints}
    present = output.body if output is not None else None
    record = keep_present(taint_record(manifest, added_at), present) if added_at else None
    return TakenBinding({**manifest.body, "spec": spec}, record)


def _condition_taints(body: Body, failover: bool) -> list[Body]:  # noqa: FBT001  # passed on by name
    """Return the taints that follow from the Ready condition.

    NoSchedule holds at once; NoExecute is dated by the condition's lastTransitionTime. A status
    without a Ready condition is not ready. A cluster without a status is a declaration, and ready.

    Source: karmada@f8fdd02 pkg/controllers/cluster/cluster_controller.go `taintClusterByCondition`,
    `processTaintBaseEviction`.
    """
    status = mapping(body, "status")
    if not status:
        return []
    ready = next((c for c in bodies(status, "conditions") if c.get("type") == "Ready"), None)
    if ready is None:
        return [{"key": NOT_READY, "effect": "NoSchedule"}]
    key = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(text(ready, "status"))
    if key is None:
        return []
    written = {taint_id(taint) for taint in bodies(mapping(body, "spec"), "taints")}
    derived: list[Body] = [{"key": key, "effect": "NoSchedule"}]
    if failover:
        since = text(ready, "lastTransitionTime")
        derived.append({"key": key, "effect": "NoExecute", "timeAdded": since})
    return [taint for taint in derived if taint_id(taint) not in written]


def departed(name: str) -> Body:
    """Return a stand-in for a cluster whose file is gone while a binding still names it.

    It counts as a Cluster that is being deleted, so that the binding leaves it.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `doScheduleBinding`, the case of a
    terminating target cluster.
    """
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": KIND,
        "metadata": {"name": name, "deletionTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"syncMode": "Push"},
        "status": {},
    }
