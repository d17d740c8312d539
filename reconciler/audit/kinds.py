"""Kinds that the audit tells apart: what is placed, and on what."""

PLACED = frozenset(
    {
        ("cluster.open-cluster-management.io", "Placement"),
        ("placement.kubernetes-fleet.io", "ClusterResourcePlacement"),
        ("work.karmada.io", "ClusterResourceBinding"),
        ("work.karmada.io", "ResourceBinding"),
    }
)
"""(group, kind) of the outputs that decisions are about."""

KARMADA = ("cluster.karmada.io", "Cluster")
OCM = ("cluster.open-cluster-management.io", "ManagedCluster")
KUBEFLEET = ("cluster.kubernetes-fleet.io", "MemberCluster")
CLUSTERS = (KARMADA, OCM, KUBEFLEET)
"""(group, kind) of clusters."""
