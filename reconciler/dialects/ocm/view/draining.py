"""How a ManagedCluster is emptied: by a taint with NoSelect."""

from reconciler.dialects.draining import DRAINED, Draining, tolerated_for_ever
from reconciler.dialects.ocm.api.placement import decode_placement
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World

TAINT: Body = {"key": DRAINED, "effect": "NoSelect"}
"""Source: ours; upstream has no tool that drains, but the effect by which decisions end."""


def stays(world: World, key: ObjectKey, _: ClusterName) -> str:
    """Return why a placement keeps its decision for a drained cluster.

    What a ManifestWorkReplicaSet puts there goes as its placements say.
    """
    written = world.inputs.get(key)
    if written is None or key.kind != "Placement":
        return ""
    try:
        return tolerated_for_ever(decode_placement(written.body).tolerations, TAINT)
    except UserError:
        return "its placement cannot be read"


DRAINING = Draining(taint=TAINT, stays=stays)
