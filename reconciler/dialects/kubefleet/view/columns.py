"""The columns of clusters, placements and bindings."""

from reconciler.dialects.kubefleet.api.names import BINDING, GROUP, PARENT, PLACEMENT
from reconciler.dialects.kubefleet.api.policy import PICK_ALL
from reconciler.dialects.kubefleet.view.cluster import AGENT
from reconciler.manifests.columns import (
    FILE,
    NONE,
    ColumnTable,
    Row,
    age,
    condition,
    label,
    spec_of,
    status_of,
    taints,
)
from reconciler.model.fields import bodies, mapping, text


def _joined(row: Row) -> str:
    agents = [a for a in bodies(status_of(row), "agentStatus") if text(a, "type") == AGENT]
    conditions = [condition for agent in agents for condition in bodies(agent, "conditions")]
    found = (text(item, "status") for item in conditions if text(item, "type") == "Joined")
    return next(found, NONE) if status_of(row) else "Declared"


def _type(row: Row) -> str:
    return text(mapping(spec_of(row), "policy"), "placementType") or PICK_ALL


COLUMNS: ColumnTable = {
    ("cluster.kubernetes-fleet.io", "MemberCluster"): (
        (("JOINED", _joined), ("TAINTS", taints)),
        (FILE,),
    ),
    (GROUP, PLACEMENT): (
        (
            (
                "TYPE",
                lambda row: text(mapping(spec_of(row), "policy"), "placementType") or "PickAll",
            ),
            ("SCHEDULED", condition("ClusterResourcePlacementScheduled", "status")),
            ("AVAILABLE", condition("ClusterResourcePlacementAvailable", "status")),
            ("AGE", age),
        ),
        (("REASON", condition("ClusterResourcePlacementScheduled", "message")),),
    ),
    (GROUP, BINDING): (
        (
            ("CLUSTER", lambda row: text(spec_of(row), "targetCluster")),
            ("STATE", lambda row: text(spec_of(row), "state")),
            ("PLACEMENT", label(PARENT)),
            ("AGE", age),
        ),
        (("REASON", lambda row: text(mapping(spec_of(row), "clusterDecision"), "reason")),),
    ),
}
"""By kind."""
