"""What OCM's API server and webhooks refuse beyond the schemas, said in one sentence each."""

from collections.abc import Callable, Mapping
from functools import partial

from reconciler.dialects.ocm.api.cluster_sets import decode_set, decode_set_binding
from reconciler.dialects.ocm.api.clusters import decode_cluster
from reconciler.dialects.ocm.api.groups import CLUSTER
from reconciler.dialects.ocm.api.placement import GROUP, decode_placement
from reconciler.dialects.ocm.api.work_admission import refuse_replica_set, refuse_work
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP as WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND as REPLICA_SET
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import WORK
from reconciler.dialects.scores.reports import decode_report
from reconciler.errors import UserError
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.selectors import MAX_NAME

Refuse = Callable[[Body], tuple[Violation, ...]]


def refuse_placement(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a placement that its schema accepts.

    Source: ours; upstream crashes on a negative number, and loses the decisions of a name that
    cannot be a label.
    """
    unreadable = _refuse_unreadable(decode_placement, "placement", body)
    if unreadable:
        return unreadable
    placement = decode_placement(body)
    found = []
    if (placement.number_of_clusters or 0) < 0:
        found.append(
            Violation(
                "/spec/numberOfClusters",
                "placement-number",
                "`numberOfClusters` must be greater than or equal to 0",
                "0 or more, or no number for all clusters that fit",
            )
        )
    if len(placement.name) > MAX_NAME:
        found.append(
            Violation(
                "/metadata/name",
                "placement-name",
                f"`name` must have at most {MAX_NAME} characters, as decisions are labelled by it",
                f"at most {MAX_NAME} characters",
            )
        )
    return tuple(found)


def refuse_binding(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a set binding: it must be named like its set.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1beta2
    `ManagedClusterSetBinding`: the name must match the set's.
    """
    unreadable = _refuse_unreadable(decode_set_binding, "binding", body)
    if unreadable:
        return unreadable
    binding = decode_set_binding(body)
    if binding.name == binding.cluster_set:
        return ()
    return (
        Violation(
            "/metadata/name",
            "set-binding-name",
            f"`name` must be that of the set that it binds, {binding.cluster_set}",
            binding.cluster_set,
        ),
    )


def _refuse_unreadable(
    decode: Callable[[Body], object], what: str, body: Body
) -> tuple[Violation, ...]:
    """Refuse what cannot be decoded."""
    try:
        decode(body)
    except UserError as error:
        where = f" in `{error.field}`" if error.field else ""
        message = f"a value{where} {error.message}"
        return (Violation("", f"{what}-unreadable", message),)
    return ()


OCM_ADMISSIONS: Mapping[tuple[str, str], Refuse] = {
    (GROUP, "AddOnPlacementScore"): partial(_refuse_unreadable, decode_report, "score"),
    CLUSTER: partial(_refuse_unreadable, decode_cluster, "cluster"),
    (GROUP, "ManagedClusterSet"): partial(_refuse_unreadable, decode_set, "set"),
    (GROUP, "ManagedClusterSetBinding"): refuse_binding,
    (GROUP, "Placement"): refuse_placement,
    (WORK_GROUP, WORK): refuse_work,
    (WORK_GROUP, REPLICA_SET): refuse_replica_set,
}
"""What is refused, by (group, kind)."""
