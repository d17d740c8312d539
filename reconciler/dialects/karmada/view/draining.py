"""How a Cluster is emptied: by a taint with NoExecute, and by graceful eviction."""

from reconciler.dialects.draining import DRAINED, Draining, tolerated_for_ever
from reconciler.dialects.karmada.api.applied_placement import APPLIED_PLACEMENT, read_applied
from reconciler.dialects.karmada.api.settings import decode_failover
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World

TAINT: Body = {"key": DRAINED, "effect": "NoExecute"}
"""Source: ours; upstream has no tool that drains, but the effect by which all leaves."""

FAILOVER_OFF = (
    "spec.karmada.failover.enabled is false in reconciler.yaml, so no taint takes anything away"
)


def stays(world: World, key: ObjectKey, _: ClusterName) -> str:
    """Return why a binding does not leave a drained cluster: its applied placement counts.

    Source: as `evict` in eviction/taint_manager.py decides.
    """
    if not decode_failover(settings_in(world)).enabled:
        return FAILOVER_OFF
    written = world.outputs.get(key)
    metadata = {} if written is None else mapping(written.body, "metadata")
    try:
        applied = read_applied(text(mapping(metadata, "annotations"), APPLIED_PLACEMENT))
    except UserError:
        return "the placement that was applied cannot be read"
    return tolerated_for_ever(applied.cluster_tolerations or (), TAINT)


DRAINING = Draining(taint=TAINT, stays=stays)
