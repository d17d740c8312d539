"""Where placements are, by the decisions that passes wrote."""

from collections.abc import Iterator

from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.decisions.placement_decisions import PLACEMENT_LABEL
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement that has selected a cluster."""
    if output.key.kind != "Placement":
        return False
    return number(mapping(output.body, "status"), "numberOfSelectedClusters") > 0


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a PlacementDecision."""
    if key.kind != "PlacementDecision":
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PLACEMENT_LABEL)
    return ObjectKey(GROUP, "Placement", key.namespace, name) if name else None


def clusters_in(decision: Body) -> Iterator[tuple[str, int]]:
    """Yield the clusters of a PlacementDecision, which counts no replicas."""
    for item in bodies(mapping(decision, "status"), "decisions"):
        yield text(item, "clusterName"), 0
