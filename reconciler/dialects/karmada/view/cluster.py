"""What a Cluster reports, and what it looks like cordoned and unreachable."""

from reconciler.dialects.cluster_report import (
    ClusterPlace,
    ClusterReport,
    labelled_place,
    reported_status,
    reported_trouble,
    unknown_since,
)
from reconciler.dialects.karmada.taints.by_condition import READY
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.resources import less, readable_resources

CORDON: Body = {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}
"""Source: karmada@f8fdd02 pkg/apis/cluster/v1alpha1/well_known_constants.go
TaintClusterUnscheduler.
"""

TAINT_EFFECTS = ("PreferNoSchedule", "NoSchedule", "NoExecute")
"""Source: karmada@f8fdd02 pkg/karmadactl/taint/taint.go `taintLong`."""


def place_of(cluster: Body) -> ClusterPlace:
    """Return where a cluster stands by its spec, or else by its labels."""
    spec, labelled = mapping(cluster, "spec"), labelled_place(cluster)
    zones = ", ".join(strings(spec, "zones")) or text(spec, "zone")
    return ClusterPlace(text(spec, "region") or labelled.region, zones or labelled.zone)


def report_of(status: Body) -> ClusterReport:
    """Return what a cluster reports.

    Source: karmada@f8fdd02 pkg/estimator/client/general.go takes allocated and allocating off
    allocatable.
    """
    summary = mapping(status, "resourceSummary")
    capacity = readable_resources(mapping(summary, "allocatable"))
    used = [readable_resources(mapping(summary, name)) for name in ("allocated", "allocating")]
    free = None
    if capacity is not None and used != [None, None]:
        free = less(less(capacity, used[0] or {}), used[1] or {})
    conditions = bodies(status, "conditions")
    return ClusterReport(
        ready=reported_status(conditions, READY),
        capacity=capacity,
        free=free,
        down=reported_trouble(conditions, READY),
    )


def unreachable(cluster: Body, moment: str) -> Body:
    """Return a cluster whose Ready is Unknown since a moment."""
    status = mapping(cluster, "status")
    known = bodies(status, "conditions")
    return {**cluster, "status": unknown_since(status, known, READY, moment)}
