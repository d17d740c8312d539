"""The kinds of the CRDs of KubeFleet e160c1c; written by `make schemas`."""

from collections.abc import Mapping

CRD_KINDS: Mapping[str, tuple[str, ...]] = {
    "cluster.kubernetes-fleet.io": (
        "InternalMemberCluster",
        "MemberCluster",
    ),
    "placement.kubefleet.dev": (
        "ClusterPlacementBinding",
        "ClusterPlacementPolicy",
        "ClusterPlacementResourceSnapshot",
        "ClusterRequest",
        "PlacementBinding",
        "PlacementPolicy",
        "PlacementResourceSnapshot",
        "Work",
    ),
    "placement.kubernetes-fleet.io": (
        "AppliedWork",
        "ApprovalRequest",
        "ClusterApprovalRequest",
        "ClusterResourceBinding",
        "ClusterResourceEnvelope",
        "ClusterResourceOverride",
        "ClusterResourceOverrideSnapshot",
        "ClusterResourcePlacement",
        "ClusterResourcePlacementDisruptionBudget",
        "ClusterResourcePlacementEviction",
        "ClusterResourcePlacementStatus",
        "ClusterResourceSnapshot",
        "ClusterSchedulingPolicySnapshot",
        "ClusterStagedUpdateRun",
        "ClusterStagedUpdateStrategy",
        "ResourceBinding",
        "ResourceEnvelope",
        "ResourceOverride",
        "ResourceOverrideSnapshot",
        "ResourcePlacement",
        "ResourceSnapshot",
        "SchedulingPolicySnapshot",
        "StagedUpdateRun",
        "StagedUpdateStrategy",
        "Work",
    ),
}
"""Group to kinds."""
