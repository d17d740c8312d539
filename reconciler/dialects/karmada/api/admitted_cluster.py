"""A cluster as its controllers leave it: taints dated, conditions turned into taints."""

from dataclasses import replace
from datetime import datetime

from reconciler.dialects.cluster_inventory import AdmittedCluster
from reconciler.dialects.karmada.api.cluster_models import mutated_cluster
from reconciler.dialects.karmada.api.clusters import MemberCluster, decode_cluster
from reconciler.dialects.karmada.api.groups import CLUSTER_GROUP
from reconciler.dialects.karmada.api.settings import decode_failover
from reconciler.manifests.taint_dates import dated, first_seen, taint_id, taint_record
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.settings import Settings
from reconciler.model.stamps import keep_present
from reconciler.model.world import Manifest

GROUP = CLUSTER_GROUP
KIND = "Cluster"
NOT_READY = "cluster.karmada.io/not-ready"
UNREACHABLE = "cluster.karmada.io/unreachable"


def admit_cluster(
    manifest: Manifest,
    output: Manifest | None,
    *,
    declared: bool,
    failover: bool,
    now: datetime,
) -> AdmittedCluster[MemberCluster]:
    """Date the taints of one cluster, and add those that follow from its conditions.

    Args:
        manifest: The cluster.
        output: Its status file, `None` if there is none.
        declared: Whether a cluster without any status is ready.
        failover: Whether a failing cluster gets a NoExecute taint, too.
        now: Moment that dates taints first seen in this pass.
    """
    written = bodies(mapping(manifest.body, "spec"), "taints")
    added_at = first_seen(written, output, now)
    taints = [*dated(written, added_at), *_condition_taints(manifest.body, failover)]
    spec = {**mutated_cluster(mapping(manifest.body, "spec")), "taints": taints}
    present = output.body if output is not None else None
    record = keep_present(taint_record(manifest, added_at), present) if added_at else None
    view = decode_cluster({**manifest.body, "spec": spec}, declared=declared)
    return AdmittedCluster(view, record)


def taints_of(body: Body, settings: Settings) -> tuple[Body, ...]:
    """Return the taints of a cluster that scheduling uses: those written and those that follow."""
    written = bodies(mapping(body, "spec"), "taints")
    return (*written, *_condition_taints(body, decode_failover(settings).enabled))


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


def decode_departed(name: str, *, declared: bool) -> MemberCluster:
    """Return a stand-in for a cluster whose file is gone while a binding still names it.

    It counts as a Cluster that is being deleted, so that the binding leaves it.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `doScheduleBinding`, the case of a
    terminating target cluster.
    """
    body: Body = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": KIND,
        "metadata": {"name": name, "deletionTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"syncMode": "Push"},
        "status": {},
    }
    return replace(decode_cluster(body, declared=declared), departed=True)
