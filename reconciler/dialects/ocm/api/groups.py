"""The API groups of Open Cluster Management and its clusters; no other file spells them."""

from reconciler.model.known_kinds import Kind

CLUSTER_GROUP = "cluster.open-cluster-management.io"
WORK_GROUP = "work.open-cluster-management.io"

CLUSTER: Kind = (CLUSTER_GROUP, "ManagedCluster")
