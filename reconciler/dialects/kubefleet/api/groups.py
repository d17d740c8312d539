"""The API groups of KubeFleet, and its kinds of clusters and runs; no other file spells them."""

from reconciler.model.known_kinds import Kind

CLUSTER_GROUP = "cluster.kubernetes-fleet.io"
PLACEMENT_GROUP = "placement.kubernetes-fleet.io"

CLUSTER: Kind = (CLUSTER_GROUP, "MemberCluster")

RUNS: frozenset[Kind] = frozenset(
    {(PLACEMENT_GROUP, "ClusterStagedUpdateRun"), (PLACEMENT_GROUP, "StagedUpdateRun")}
)
"""Kinds of what rolls a placement out in stages."""
STRATEGIES: frozenset[Kind] = frozenset(
    {(PLACEMENT_GROUP, "ClusterStagedUpdateStrategy"), (PLACEMENT_GROUP, "StagedUpdateStrategy")}
)
"""Kinds of what says in which stages."""
