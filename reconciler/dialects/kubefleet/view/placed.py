"""Where placements are, by the bindings and snapshots that passes wrote."""

from reconciler.dialects.kubefleet.api.names import GROUP, PARENT, PLACEMENT
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement that names a cluster."""
    if output.key.kind != PLACEMENT:
        return False
    statuses = bodies(mapping(output.body, "status"), "placementStatuses")
    return any(text(item, "clusterName") for item in statuses)


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a binding or a snapshot."""
    if key.group != GROUP or key.kind == PLACEMENT:
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PARENT)
    return ObjectKey(key.group, PLACEMENT, key.namespace, name) if name else None
