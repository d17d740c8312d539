"""Which placements and sets are followed from world to world, and which outputs are theirs."""

from reconciler.dialects.followed_objects import Ownership
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.placement_decision import decode_decision
from reconciler.dialects.ocm.decisions.placement_record import DECISION
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP as WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND as SET
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey

PLACEMENT = "Placement"


def placement_key(owner: tuple[str, str]) -> ObjectKey:
    """Return the key of a placement by namespace and name."""
    return ObjectKey(GROUP, PLACEMENT, *owner)


def _owner_of(key: ObjectKey, body: Body) -> ObjectKey:
    """Return the placement of a PlacementDecision, with the name `""` if no label names one."""
    return placement_key(decode_decision(body).owner or (key.namespace, ""))


PLACEMENT_FILES = Ownership(
    kinds=frozenset({(GROUP, PLACEMENT)}),
    owned=frozenset({(GROUP, DECISION)}),
    owner_of=_owner_of,
)
SET_FILES = Ownership(kinds=frozenset({(WORK_GROUP, SET)}))
