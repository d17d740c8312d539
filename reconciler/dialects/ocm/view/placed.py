"""Where placements are, by the decisions that passes wrote."""

from collections.abc import Iterator

from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.placement_decision import PLACEMENT_LABEL, decode_decision
from reconciler.dialects.ocm.api.placement_status import decode_status
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import clusters_of, decode_record
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement or a set that has a cluster."""
    if output.key.kind == KIND:
        return bool(decode_record(output.body).works)
    if output.key.kind != "Placement":
        return False
    return decode_status(output.body).selected > 0


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a PlacementDecision."""
    if key.kind != "PlacementDecision":
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PLACEMENT_LABEL)
    return ObjectKey(GROUP, "Placement", key.namespace, name) if name else None


def clusters_in(decision: Body) -> Iterator[tuple[str, int]]:
    """Yield the clusters of a PlacementDecision or a set, which count no replicas."""
    if decision.get("kind") == KIND:
        yield from clusters_of(decode_record(decision))
        return
    yield from ((name, 0) for name in decode_decision(decision).clusters)
