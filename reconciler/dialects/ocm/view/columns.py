"""The columns of clusters, placements and decisions."""

from reconciler.dialects.ocm.api.cluster_sets import SET_LABEL
from reconciler.dialects.ocm.api.condition_taints import AVAILABLE
from reconciler.dialects.ocm.api.groups import CLUSTER
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.placement_decision import PLACEMENT_LABEL, decode_decision
from reconciler.dialects.ocm.api.placement_status import decode_status
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP as WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND as REPLICA_SET
from reconciler.manifests.columns import (
    FILE,
    NONE,
    ColumnTable,
    Row,
    age,
    condition,
    if_reported,
    label,
    printed,
    spec_of,
    status_of,
    taints,
)
from reconciler.model.fields import bodies, mapping, number, text


def _selected(row: Row) -> str:
    wanted = spec_of(row).get("numberOfClusters")
    found = str(decode_status(row.body).selected)
    return f"{found}/{wanted}" if isinstance(wanted, int) else found


def _scores(row: Row) -> str:
    scores = bodies(status_of(row), "scores")
    return ", ".join(f"{text(one, 'name')}={number(one, 'value')}" for one in scores) or NONE


def _decided(row: Row) -> str:
    return ", ".join(decode_decision(row.body).clusters) or NONE


def _available(row: Row) -> str:
    summary = mapping(status_of(row), "summary")
    return f"{number(summary, 'available')}/{number(summary, 'total')}"


COLUMNS: ColumnTable = {
    CLUSTER: (
        (
            ("HUB ACCEPTED", printed(".spec.hubAcceptsClient")),
            ("MANAGED CLUSTER URLS", printed(".spec.managedClusterClientConfigs[*].url")),
            ("JOINED", if_reported(condition("ManagedClusterJoined"))),
            ("AVAILABLE", if_reported(condition(AVAILABLE))),
            ("TAINTS", taints),
            ("AGE", age),
        ),
        (("SET", label(SET_LABEL)), FILE),
    ),
    (GROUP, "ManagedClusterSet"): (
        (("EMPTY", condition("ClusterSetEmpty")), ("AGE", age)),
        (("SELECTOR", printed(".spec.clusterSelector.selectorType")), FILE),
    ),
    (GROUP, "ManagedClusterSetBinding"): ((("SET", printed(".spec.clusterSet")),), (FILE,)),
    (GROUP, "AddOnPlacementScore"): (
        (("SCORES", _scores), ("VALID UNTIL", printed(".status.validUntil"))),
        (FILE,),
    ),
    (GROUP, "Placement"): (
        (
            ("SUCCEEDED", condition("PlacementSatisfied")),
            ("REASON", condition("PlacementSatisfied", "reason")),
            ("SELECTEDCLUSTERS", _selected),
            ("AGE", age),
        ),
        (
            ("MESSAGE", condition("PlacementSatisfied", "message")),
            ("MISCONFIGURED", condition("PlacementMisconfigured", "message")),
        ),
    ),
    (WORK_GROUP, REPLICA_SET): (
        (
            ("PLACEMENT", condition("PlacementVerified", "reason")),
            ("FOUND", condition("PlacementVerified")),
            ("MANIFESTWORKS", condition("ManifestworkApplied", "reason")),
            ("APPLIED", condition("ManifestworkApplied")),
        ),
        (
            ("ROLLED OUT", condition("PlacementRolledOut")),
            ("AVAILABLE", _available),
            ("MESSAGE", condition("ManifestworkApplied", "message")),
        ),
    ),
    (GROUP, "PlacementDecision"): (
        (("PLACEMENT", label(PLACEMENT_LABEL)), ("CLUSTERS", _decided), ("AGE", age)),
        (FILE,),
    ),
}
"""By kind."""
