"""The API groups of Karmada, and others that its rules ask for; no other file spells them."""

CLUSTER_GROUP = "cluster.karmada.io"
POLICY_GROUP = "policy.karmada.io"
WORK_GROUP = "work.karmada.io"
CONFIG_GROUP = "config.karmada.io"
MULTICLUSTER_GROUP = "multicluster.x-k8s.io"
SCHEDULING_GROUP = "scheduling.k8s.io"
