"""The kinds of the CRDs of Open Cluster Management 1845fd8; written by `make schemas`."""

from collections.abc import Mapping

CRD_KINDS: Mapping[str, tuple[str, ...]] = {
    "addon.open-cluster-management.io": (
        "AddOnDeploymentConfig",
        "AddOnTemplate",
        "ClusterManagementAddOn",
        "ManagedClusterAddOn",
    ),
    "cluster.open-cluster-management.io": (
        "AddOnPlacementScore",
        "ClusterClaim",
        "ManagedCluster",
        "ManagedClusterSet",
        "ManagedClusterSetBinding",
        "Placement",
        "PlacementDecision",
    ),
    "work.open-cluster-management.io": (
        "AppliedManifestWork",
        "ManifestWork",
        "ManifestWorkReplicaSet",
    ),
}
"""Group to kinds."""
