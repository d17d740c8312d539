"""The columns of clusters, policies and bindings."""

from operator import attrgetter

from reconciler.dialects.karmada.api import admitted_cluster
from reconciler.dialects.karmada.api.placement import replica_scheduling
from reconciler.dialects.karmada.api.policies import CLUSTER_WIDE, NAMESPACED
from reconciler.dialects.karmada.api.policies import GROUP as POLICIES
from reconciler.dialects.karmada.api.quota.quota import QUOTA
from reconciler.dialects.karmada.api.work.binding_metadata import (
    BINDING,
    CLUSTER_BINDING,
    decode_metadata,
)
from reconciler.dialects.karmada.api.work.binding_spec import (
    decode_policy_fields,
    decode_tasks,
)
from reconciler.dialects.karmada.api.work.binding_status import decode_status
from reconciler.dialects.karmada.detector.binding_draft import GROUP
from reconciler.dialects.karmada.detector.claim_marks import CLUSTER_POLICY_NAME, POLICY_NAME
from reconciler.dialects.karmada.taints.by_policy import TAINT_POLICY
from reconciler.dialects.karmada.view.placed import held_in
from reconciler.manifests.columns import (
    FILE,
    NONE,
    Columns,
    ColumnTable,
    Row,
    age,
    condition,
    if_reported,
    or_assumed,
    printed,
    spec_of,
    taints,
)
from reconciler.model.fields import bodies, number, text


def _placed(row: Row) -> str:
    clusters = sorted(held_in(row.body), key=attrgetter("name"))
    shown = (f"{name}({replicas})" if replicas else name for name, replicas in clusters)
    return ", ".join(shown) or NONE


def _leaving(row: Row) -> str:
    return ", ".join(sorted(task.from_cluster for task in decode_tasks(spec_of(row)))) or NONE


def _policy(row: Row) -> str:
    metadata = decode_metadata(row.body)
    return metadata.note(POLICY_NAME) or metadata.note(CLUSTER_POLICY_NAME) or NONE


def _selects(row: Row) -> str:
    shown = []
    for selector in bodies(spec_of(row), "resourceSelectors"):
        name = text(selector, "name")
        shown.append(f"{text(selector, 'kind')}/{name}" if name else text(selector, "kind"))
    return ", ".join(shown)


def _strategy(row: Row) -> str:
    scheduling = replica_scheduling(decode_policy_fields(spec_of(row)).placement)
    if not scheduling:
        return "Duplicated"
    kind = text(scheduling, "replicaSchedulingType") or "Divided"
    preference = text(scheduling, "replicaDivisionPreference") or "Weighted"
    return f"{kind}/{preference}" if kind == "Divided" else kind


def _conflict(row: Row) -> str:
    return decode_policy_fields(spec_of(row)).conflict_resolution or "Abort"


_BINDING: Columns = (
    (
        ("CLUSTERS", _placed),
        ("LEAVING", _leaving),
        ("SCHEDULED", condition("Scheduled")),
        ("FULLYAPPLIED", or_assumed("FullyApplied")),
        ("AGE", age),
    ),
    (
        ("GROUP", lambda row: decode_status(row.body).observed_affinity or NONE),
        ("POLICY", _policy),
        ("REASON", condition("Scheduled", "message")),
    ),
)
_POLICY: Columns = (
    (
        ("SELECTS", _selects),
        ("DIVISION", _strategy),
        ("CONFLICT-RESOLUTION", _conflict),
        ("PRIORITY", lambda row: str(number(spec_of(row), "priority"))),
        ("AGE", age),
    ),
    (FILE,),
)
COLUMNS: ColumnTable = {
    (admitted_cluster.GROUP, admitted_cluster.KIND): (
        (
            ("VERSION", printed(".status.kubernetesVersion")),
            ("MODE", printed(".spec.syncMode")),
            ("READY", if_reported(condition("Ready"))),
            ("TAINTS", taints),
            ("AGE", age),
        ),
        (
            ("APIENDPOINT", printed(".spec.apiEndpoint")),
            ("REGION", printed(".spec.region")),
            ("PROVIDER", printed(".spec.provider")),
            ("ZONES", printed(".spec.zones[*]")),
            FILE,
        ),
    ),
    (POLICIES, CLUSTER_WIDE): _POLICY,
    (POLICIES, NAMESPACED): _POLICY,
    QUOTA: (
        (
            ("OVERALL", printed(".status.overall")),
            ("OVERALL_USED", printed(".status.overallUsed")),
        ),
        (FILE,),
    ),
    TAINT_POLICY: ((("TAINTS", taints),), (FILE,)),
    (GROUP, BINDING): _BINDING,
    (GROUP, CLUSTER_BINDING): _BINDING,
    (GROUP, "Work"): (
        (
            ("WORKLOAD-KIND", printed(".spec.workload.manifests[*].kind")),
            ("APPLIED", condition("Applied")),
            ("AGE", age),
        ),
        (FILE,),
    ),
}
"""By kind; those of a cluster are not of a CRD but of karmada pkg/printers/internalversion."""
