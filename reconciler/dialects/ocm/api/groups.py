"""The API groups of Open Cluster Management; no other file spells them."""

CLUSTER_GROUP = "cluster.open-cluster-management.io"
WORK_GROUP = "work.open-cluster-management.io"
