"""Which rebalancer of a world moves its targets in batches, and is not done with them."""

from datetime import datetime
from functools import partial

from reconciler.dialects.object_boundary import attempt, place_of
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World
from reconciler.rebalance.kinds import REBALANCER
from reconciler.rebalance.rebalancer_spec import decode_rebalancer
from reconciler.rebalance.workload_rebalancer import is_at_work


def moving_in_batches(world: World, now: datetime) -> ObjectKey | None:
    """Return the first rebalancer that may move some of its targets now, and others later."""
    for manifest in world.of_kind(*REBALANCER):
        if at(manifest.body, "spec", "limits").get("maxMoves") is not None:
            asked = partial(_is_at_work, world, manifest, now)
            if attempt(asked, partial(place_of, manifest)):  # one that fails is looked at, too
                return manifest.key
    return None


def _is_at_work(world: World, manifest: Manifest, now: datetime) -> bool:
    present = world.outputs.get(manifest.key)
    record = None if present is None else mapping(present.body, "metadata")
    status: Body = {} if present is None else mapping(present.body, "status")
    spec = mapping(manifest.body, "spec")
    admitted, _ = admit(manifest.key, spec, record, now)
    return is_at_work(decode_rebalancer(spec, status, admitted), now)
