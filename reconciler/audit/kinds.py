"""Kinds that the audit tells apart: what is placed, on what, and what demands it afresh."""

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

RUN_ONCE = frozenset(
    {("apps.karmada.io", "WorkloadRebalancer"), ("policy.karmada.io", "ScheduleTrigger")}
)
"""(group, kind) of demands whose record says that they have run."""
