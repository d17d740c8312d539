"""The columns of clusters, placements and decisions."""

from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.decisions.placement_decisions import PLACEMENT_LABEL
from reconciler.dialects.ocm.view.cluster import AVAILABLE
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
from reconciler.model.fields import bodies, number, text

CLUSTER_SET = f"{GROUP}/clusterset"


def _selected(row: Row) -> str:
    wanted = spec_of(row).get("numberOfClusters")
    found = str(number(status_of(row), "numberOfSelectedClusters"))
    return f"{found}/{wanted}" if isinstance(wanted, int) else found


def _decided(row: Row) -> str:
    decisions = bodies(status_of(row), "decisions")
    return ", ".join(text(decision, "clusterName") for decision in decisions) or NONE


def _available(row: Row) -> str:
    shown = condition(AVAILABLE, "status")
    return shown(row) if status_of(row) else "Declared"


COLUMNS: ColumnTable = {
    (GROUP, "ManagedCluster"): (
        (("AVAILABLE", _available), ("SET", label(CLUSTER_SET)), ("TAINTS", taints)),
        (FILE,),
    ),
    (GROUP, "Placement"): (
        (
            ("SELECTED", _selected),
            ("SATISFIED", condition("PlacementSatisfied", "status")),
            ("AGE", age),
        ),
        (
            ("REASON", condition("PlacementSatisfied", "message")),
            ("MISCONFIGURED", condition("PlacementMisconfigured", "message")),
        ),
    ),
    (GROUP, "PlacementDecision"): (
        (("PLACEMENT", label(PLACEMENT_LABEL)), ("CLUSTERS", _decided)),
        (FILE,),
    ),
}
"""By kind."""
