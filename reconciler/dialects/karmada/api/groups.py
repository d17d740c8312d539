"""The API groups of Karmada and others that its rules ask for, and kinds that several name."""

from reconciler.model.known_kinds import Kind

CLUSTER_GROUP = "cluster.karmada.io"
POLICY_GROUP = "policy.karmada.io"
WORK_GROUP = "work.karmada.io"
CONFIG_GROUP = "config.karmada.io"
MULTICLUSTER_GROUP = "multicluster.x-k8s.io"
SCHEDULING_GROUP = "scheduling.k8s.io"

CLUSTER: Kind = (CLUSTER_GROUP, "Cluster")
INGRESS = ("networking.k8s.io/v1", "Ingress")
