"""A cluster as its controllers leave it: taints dated, conditions turned into taints."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reconciler.dialects.cluster_inventory import AdmittedCluster
from reconciler.dialects.karmada.api.cluster_models import mutated_cluster
from reconciler.dialects.karmada.api.clusters import MemberCluster, decode_cluster, members_of
from reconciler.dialects.karmada.api.groups import CLUSTER_GROUP
from reconciler.dialects.karmada.api.settings import decode_failover
from reconciler.dialects.karmada.taints.by_condition import READY, taints_by_condition
from reconciler.dialects.karmada.taints.by_policy import TaintPolicy, taints_by_policies
from reconciler.dialects.karmada.taints.kept_taints import (
    KeptTaints,
    after_policies,
    decode_kept,
    encode_kept,
)
from reconciler.manifests.taint_dates import dated, first_seen, taint_id, taint_record
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.moments import stamp
from reconciler.model.settings import Settings
from reconciler.model.stamps import keep_present
from reconciler.model.world import Manifest

GROUP = CLUSTER_GROUP
KIND = "Cluster"


def admit_cluster(
    manifest: Manifest,
    output: Manifest | None,
    *,
    declared: bool,
    failover: bool,
    policies: Sequence[TaintPolicy] = (),
    spares: bool = True,
    now: datetime,
) -> AdmittedCluster[MemberCluster]:
    """Date the taints of one cluster, add those that follow from its conditions, ask policies.

    Args:
        manifest: The cluster.
        output: Its status file, `None` if there is none.
        declared: Whether a cluster without any status is ready.
        failover: Whether a failing cluster gets a NoExecute taint, too.
        policies: That put taints on clusters, in their order.
        spares: Whether one that is being deleted gets no taint; by the first rules it did.
        now: Moment that dates taints first seen in this pass.
    """
    spec = mutated_cluster(mapping(manifest.body, "spec"))
    present = output.body if output is not None else None
    written = bodies(mapping(manifest.body, "spec"), "taints")
    added_at = first_seen(written, output, now)
    kept = decode_kept(present)
    known = kept.applied_to(dated(written, added_at))
    before = _following(manifest.body, known, failover, spares=spares)
    taints, kept = _by_policies(manifest.body, before, kept, policies, now, declared=declared)
    view = decode_cluster({**manifest.body, "spec": {**spec, "taints": taints}}, declared=declared)
    notes = encode_kept(kept.of(written))
    record = taint_record(manifest, added_at, notes) if added_at or notes else None
    return AdmittedCluster(view, None if record is None else keep_present(record, present))


def taints_of(body: Body, settings: Settings, record: Body | None) -> tuple[Body, ...]:
    """Return the taints of a cluster that scheduling uses: written, that follow, of policies."""
    written = decode_kept(record).applied_to(bodies(mapping(body, "spec"), "taints"))
    return _following(body, written, decode_failover(settings).enabled)


def _by_policies(
    body: Body,
    before: Sequence[Body],
    kept: KeptTaints,
    policies: Sequence[TaintPolicy],
    now: datetime,
    *,
    declared: bool,
) -> tuple[Sequence[Body], KeptTaints]:
    """Return the taints once policies had their say, and what is to be remembered of that.

    A cluster without a status is a declaration, and has no condition that a policy could mean.
    """
    conditions = bodies(mapping(body, "status"), "conditions")
    if not policies or not conditions:
        return before, kept
    alone = members_of((decode_cluster(body, declared=declared),))

    def targets(policy: TaintPolicy) -> bool:
        return policy.target is None or bool(alone.matching(policy.target))

    added: Body = {"timeAdded": str(stamp(now))}
    after = taints_by_policies(before, conditions, policies, targets, added)
    return after, after_policies(kept, before, after)


def _following(
    body: Body,
    taints: Sequence[Body],
    failover: bool,  # noqa: FBT001  # passed on by name
    *,
    spares: bool = True,
) -> tuple[Body, ...]:
    """Return the taints of a cluster with those that follow from its Ready condition.

    NoSchedule holds at once; NoExecute is dated by the condition's lastTransitionTime. A status
    without a Ready condition is not ready. A cluster without a status is a declaration, and ready.

    Unlike upstream: a taint that a person wrote stays when its condition is over.

    Source: karmada@f8fdd02 pkg/controllers/cluster/cluster_controller.go `taintClusterByCondition`,
    `processTaintBaseEviction`.
    """
    status = mapping(body, "status")
    if not status:
        return tuple(taints)
    conditions = bodies(status, "conditions")
    deleting = spares and bool(text(mapping(body, "metadata"), "deletionTimestamp"))
    found = taints_by_condition((), conditions, deleting=deleting, added={})
    since = next((text(one, "lastTransitionTime") for one in conditions if _is_ready(one)), "")
    evicting = ({**one, "effect": "NoExecute", "timeAdded": since} for one in found)
    ids = set(map(taint_id, taints))
    derived = (*found, *(evicting if failover and since else ()))
    return (*taints, *(one for one in derived if taint_id(one) not in ids))


def _is_ready(condition: Body) -> bool:
    return text(condition, "type") == READY


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
