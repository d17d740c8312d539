"""Which objects depend on each other since a quota counts all that its namespace uses."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain

from reconciler.dialects.karmada.api.quota.quota import QUOTA
from reconciler.dialects.karmada.api.settings import enforces_quotas
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World


def is_counted(world: World, namespace: str) -> bool:
    """Return whether quotas of a namespace refuse what exceeds them."""
    limited = any(one.key.namespace == namespace for one in world.of_kind(*QUOTA))
    return limited and enforces_quotas(settings_in(world))


def counted_together(
    world: World, objects: Mapping[ObjectKey, Iterable[ObjectKey]]
) -> dict[ObjectKey, frozenset[ObjectKey]]:
    """Return the objects that quotas count together, each with what all of these read.

    Args:
        world: That has them.
        objects: All, with what each of them reads.
    """
    namespaces = {one.key.namespace for one in world.of_kind(*QUOTA)}
    if not namespaces or not enforces_quotas(settings_in(world)):
        return {}
    counted: dict[str, list[ObjectKey]] = defaultdict(list)
    for key in objects:
        if key.namespace in namespaces:
            counted[key.namespace].append(key)
    found: dict[ObjectKey, frozenset[ObjectKey]] = {}
    for keys in counted.values():
        found |= dict.fromkeys(keys, frozenset(chain.from_iterable(map(objects.__getitem__, keys))))
    return found
