"""A cluster with what each score of KubeFleet's profile gave it, by upstream's names."""

from collections.abc import Mapping
from typing import NamedTuple

from reconciler.model.identity import ClusterName

AFFINITY = "ClusterAffinity"
SAME_PLACEMENT = "SamePlacementAffinity"
TOPOLOGY = "TopologySpreadConstraints"


class RankedCluster(NamedTuple):
    """A cluster and its scores by their names, in the order in which they are compared."""

    name: ClusterName
    scores: Mapping[str, int] = {}

    @property
    def affinity(self) -> int:
        """What decisions show as the affinity score."""
        return self.scores.get(AFFINITY, 0)

    @property
    def topology(self) -> int:
        """What decisions show as the topology spread score."""
        return self.scores.get(TOPOLOGY, 0)
