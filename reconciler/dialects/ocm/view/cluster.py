"""What a ManagedCluster reports, and what it looks like cordoned and unreachable."""

from reconciler.dialects.cluster_report import (
    ClusterReport,
    reported_status,
    reported_trouble,
    unknown_since,
)
from reconciler.dialects.ocm.api.condition_taints import AVAILABLE
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.resources import readable_resources

CORDON: Body = {"key": "reconciler.dev/cordoned", "effect": "NoSelectIfNew"}
"""Source: ours; upstream has no tool for it, but an effect by which decisions stay as they are:
open-cluster-management.io/api cluster/v1 types.go `TaintEffectNoSelectIfNew`.
"""

TAINT_EFFECTS = ("PreferNoSelect", "NoSelectIfNew", "NoSelect")
"""Source: open-cluster-management.io/api cluster/v1 types.go `TaintEffect`."""


def report_of(status: Body) -> ClusterReport:
    """Return what a cluster reports.

    Source: ocm@00f84c3 reports no use.
    """
    conditions = bodies(status, "conditions")
    return ClusterReport(
        ready=reported_status(conditions, AVAILABLE),
        capacity=readable_resources(mapping(status, "allocatable")),
        down=reported_trouble(conditions, AVAILABLE),
    )


def unreachable(cluster: Body, moment: str) -> Body:
    """Return a cluster whose availability is Unknown since a moment."""
    status = mapping(cluster, "status")
    known = bodies(status, "conditions")
    return {**cluster, "status": unknown_since(status, known, AVAILABLE, moment)}
