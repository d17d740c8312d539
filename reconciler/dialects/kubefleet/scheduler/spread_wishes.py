"""How placements want to be spread, by their topologySpreadConstraints."""

from reconciler.dialects.kubefleet.api.clusters import member_labels
from reconciler.dialects.kubefleet.api.groups import CLUSTER
from reconciler.dialects.kubefleet.api.placement import decode_placement
from reconciler.dialects.kubefleet.api.policy import DEFAULT_MAX_SKEW, decode_policy
from reconciler.dialects.placement_wishes import SpreadWish, SpreadWishes
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


def spread_wishes(world: World) -> SpreadWishes:
    """Return what says how placements want to be spread over the clusters of a world."""
    labels = {one.key.name: member_labels(one.body) for one in world.of_kind(*CLUSTER)}
    known: dict[str, dict[str, str]] = {}

    def domains(label: str) -> dict[str, str]:
        if label not in known:
            known[label] = {n: found[label] for n, found in labels.items() if label in found}
        return known[label]

    def of_placement(key: ObjectKey) -> tuple[SpreadWish, ...]:
        manifest = world.inputs.get(key)
        if manifest is None:
            return ()
        try:
            policy = decode_policy(decode_placement(manifest.body, key.namespace).policy)
        except UserError:  # what cannot be decoded is a fault already
            return ()
        return tuple(
            SpreadWish(
                name=one.topology_key,
                domain_of=domains(one.topology_key),
                skew=DEFAULT_MAX_SKEW if one.max_skew is None else one.max_skew,
            )
            for one in policy.constraints
        )

    return of_placement
