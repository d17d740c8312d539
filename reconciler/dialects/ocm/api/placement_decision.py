"""PlacementDecision: the clusters of one decision group of a placement, as a file has them."""

from collections.abc import Iterable
from dataclasses import dataclass

from reconciler.dialects.ocm.api.groups import CLUSTER_GROUP
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName

PLACEMENT_LABEL = f"{CLUSTER_GROUP}/placement"
GROUP_INDEX_LABEL = f"{CLUSTER_GROUP}/decision-group-index"
GROUP_NAME_LABEL = f"{CLUSTER_GROUP}/decision-group-name"


@dataclass(frozen=True, slots=True)
class DecisionObject:
    """One PlacementDecision: its labels, and its clusters in stored order."""

    namespace: str
    name: str
    labels: tuple[tuple[str, str], ...]
    clusters: tuple[ClusterName, ...]

    @property
    def owner(self) -> tuple[str, str] | None:
        """Namespace and name of the placement that its label names, `None` without the label."""
        name = dict(self.labels).get(PLACEMENT_LABEL)
        return None if name is None else (self.namespace, name)


def decode_decision(body: Body) -> DecisionObject:
    """Return the decision that a manifest holds."""
    metadata, status = fields.mapping(body, "metadata"), fields.mapping(body, "status")
    return DecisionObject(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        labels=fields.pairs_or_none(metadata, "labels") or (),
        clusters=tuple(
            ClusterName(fields.text(item, "clusterName"))
            for item in fields.bodies(status, "decisions")
        ),
    )


def encode_clusters(clusters: Iterable[ClusterName]) -> Body:
    """Return the status of a decision.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `generateDecision`: `reason` is empty and `score` is never filled.
    """
    return {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]}
