"""The policies and PriorityClasses of a world, decoded and indexed; as before where they stay."""

from collections.abc import Mapping
from functools import partial

from reconciler.dialects.karmada.api.groups import SCHEDULING_GROUP
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    NAMESPACED,
    Policy,
    decode_policy,
    overrides_of,
)
from reconciler.dialects.karmada.api.policies import GROUP as POLICIES
from reconciler.dialects.karmada.detector.policy_match import Policies, index_policies
from reconciler.dialects.karmada.memory import KarmadaMemory
from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.model.keyed_cache import same
from reconciler.model.world import Manifest, World

OVERRIDES = ("OverridePolicy", "ClusterOverridePolicy")
PRIORITY_CLASS = (SCHEDULING_GROUP, "PriorityClass")


def policies_in(world: World, memory: KarmadaMemory) -> Policies:
    """Return the policies indexed, those as before that are as before."""
    kinds = (NAMESPACED, CLUSTER_WIDE, *OVERRIDES)
    own, wide, *overrides = (world.of_kind(POLICIES, kind) for kind in kinds)
    manifests = (*own, *wide)

    def index() -> Policies:
        found, failed = [], {}
        for manifest in manifests:
            policy = attempt(partial(_policy, manifest, world, memory), partial(place_of, manifest))
            if isinstance(policy, Failed):
                failed[manifest.key] = policy
            else:
                found.append(policy)
        memory.policies.trim({manifest.key for manifest in manifests})
        return index_policies(found, failed)

    return memory.elections.recall(None, (own, wide, *overrides), index)


def _policy(manifest: Manifest, world: World, memory: KarmadaMemory) -> Policy:
    """Return one policy decoded, the very same one where nothing of it changed."""
    there = tuple(override in world.inputs for override in overrides_of(manifest))
    cache_key, known = (manifest.body, *there), memory.policies.under()
    found = known.get(manifest.key)
    if found is None or not same(found[0], cache_key):
        found = known[manifest.key] = (cache_key, decode_policy(manifest, world.inputs))
    return found[1]


def priority_classes_in(world: World, memory: KarmadaMemory) -> Mapping[str, int]:
    """Return the values of the PriorityClasses, by name."""
    manifests = world.of_kind(*PRIORITY_CLASS)
    return memory.priorities.recall(
        None,
        (manifests,),
        lambda: {
            manifest.key.name: value
            for manifest in manifests
            if isinstance(value := manifest.body.get("value"), int)
        },
    )
