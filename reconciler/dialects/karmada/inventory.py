"""The clusters as their controllers leave them: taints dated, conditions turned into taints.

Upstream writes these taints into the Cluster. Here a person's file is never rewritten: taints that
follow from conditions are derived at each pass, and a taint without `timeAdded` is dated once, in
the cluster's status file.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import is_moment, stamp
from reconciler.model.world import Body, Manifest, World

GROUP = "cluster.karmada.io"
KIND = "Cluster"
NOT_READY = "cluster.karmada.io/not-ready"
UNREACHABLE = "cluster.karmada.io/unreachable"
TAINTS_ADDED_AT = "reconciler.dev/taints-added-at"


@dataclass(frozen=True, slots=True)
class Inventory:
    """Cluster manifests by name with all their taints, and the status files that date them."""

    clusters: Mapping[str, Body]
    records: Mapping[ObjectKey, Body]


def take_inventory(world: World, *, failover: bool, now: datetime) -> Inventory:
    """Return the clusters of the repository.

    Args:
        world: Its inputs hold the clusters, its outputs the dates of taints.
        failover: Whether a failing cluster gets a NoExecute taint, too.
        now: Moment that dates taints first seen in this pass.
    """
    clusters: dict[str, Body] = {}
    records: dict[ObjectKey, Body] = {}
    for key, manifest in world.inputs.items():
        if (key.group, key.kind) != (GROUP, KIND):
            continue
        undated = _undated(manifest.body)
        added_at = _added_at(undated, world.outputs.get(key), now)
        if added_at:
            records[key] = _record(manifest, added_at)
        taints = [*_dated(manifest.body, added_at), *_condition_taints(manifest.body, failover)]
        spec = {**mapping(manifest.body, "spec"), "taints": taints}
        clusters[key.name] = {**manifest.body, "spec": spec}
    return Inventory(clusters, records)


def _taint_id(taint: Body) -> str:
    """Return what makes a taint the same taint: key, value and effect."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{'=' if value else ''}{value}:{text(taint, 'effect')}"


def _undated(body: Body) -> list[str]:
    """Return the taints that a person wrote without `timeAdded`."""
    taints = bodies(mapping(body, "spec"), "taints")
    return sorted({_taint_id(taint) for taint in taints if not text(taint, "timeAdded")})


def _added_at(undated: Iterable[str], present: Manifest | None, now: datetime) -> dict[str, str]:
    """Return when each undated taint was first seen, as RFC 3339 text; garbled dates start anew."""
    metadata = mapping(present.body, "metadata") if present is not None else {}
    recorded = text(mapping(metadata, "annotations"), TAINTS_ADDED_AT)
    try:
        known = json.loads(recorded or "{}")
    except ValueError:
        known = {}
    dates = known if isinstance(known, dict) else {}
    moments = {taint: at for taint, at in dates.items() if is_moment(at)}
    return {taint: moments.get(taint) or str(stamp(now)) for taint in undated}


def _record(manifest: Manifest, added_at: Mapping[str, str]) -> Body:
    """Return the status file of a cluster."""
    dates = json.dumps(added_at, sort_keys=True, separators=(",", ":"))
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": {
            "name": manifest.key.name,
            "uid": uid_of(manifest.key),
            "annotations": {TAINTS_ADDED_AT: dates},
        },
    }


def _dated(body: Body, added_at: Mapping[str, str]) -> list[Body]:
    """Return the written taints, each with its moment."""
    return [
        taint if text(taint, "timeAdded") else {**taint, "timeAdded": added_at[_taint_id(taint)]}
        for taint in bodies(mapping(body, "spec"), "taints")
    ]


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
    written = {_taint_id(taint) for taint in bodies(mapping(body, "spec"), "taints")}
    derived: list[Body] = [{"key": key, "effect": "NoSchedule"}]
    if failover:
        since = text(ready, "lastTransitionTime")
        derived.append({"key": key, "effect": "NoExecute", "timeAdded": since})
    return [taint for taint in derived if _taint_id(taint) not in written]


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
