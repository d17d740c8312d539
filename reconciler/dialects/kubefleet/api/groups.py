"""The API groups of KubeFleet; no other file spells them."""

CLUSTER_GROUP = "cluster.kubernetes-fleet.io"
PLACEMENT_GROUP = "placement.kubernetes-fleet.io"
