"""The API groups of KubeFleet, and its kind of clusters; no other file spells them."""

from reconciler.model.known_kinds import Kind

CLUSTER_GROUP = "cluster.kubernetes-fleet.io"
PLACEMENT_GROUP = "placement.kubernetes-fleet.io"

CLUSTER: Kind = (CLUSTER_GROUP, "MemberCluster")
