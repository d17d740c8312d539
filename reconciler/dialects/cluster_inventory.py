"""The clusters of one API as its controllers would leave them; the loop over them stands here once.

Upstream writes taints into the cluster. Here a person's file is never rewritten: what follows from
conditions is derived at each pass, and what must be remembered stands in the cluster's status file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import CacheKey, same
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Body, Fault, Manifest, World

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class AdmittedCluster(Generic[V]):
    """A cluster as the scheduler reads it; `record` is its status file, `None` without one."""

    view: V
    record: Body | None = None


@dataclass(frozen=True, slots=True)
class ClusterInventory(Generic[V]):
    """The clusters of a repository.

    Attributes:
        views: Those that can be decoded, by name, sorted.
        records: Their status files.
        failed: The others, by name; what is on one of them stays as it is.
    """

    views: Mapping[str, V]
    records: Mapping[ObjectKey, Body]
    failed: Mapping[str, Failed]


@dataclass(slots=True, eq=False)
class InventoryCache(Generic[V]):
    """The clusters of earlier rounds, by name, and the whole inventory while nothing changes."""

    admitted: dict[str, tuple[CacheKey, AdmittedCluster[V]]] = field(default_factory=dict)
    last: tuple[CacheKey, ClusterInventory[V]] | None = None


def take_inventory(
    world: World,
    kind: Kind,
    known: InventoryCache[V],
    admit: Callable[[Manifest, Manifest | None], AdmittedCluster[V]],
    *,
    under: tuple[object, ...],
    fault: Callable[[Manifest, UserError], Fault] | None = None,
) -> ClusterInventory[V]:
    """Return the clusters of the repository.

    Args:
        world: Its inputs hold the clusters, its outputs their status files.
        kind: Of the clusters.
        known: What earlier rounds found.
        admit: Makes one of its manifest and its status file.
        under: What `admit` depends on besides.
        fault: Makes a fault of what `admit` refuses, `None` if it refuses nothing.
    """
    manifests = world.of_kind(*kind)
    drawn_from = (manifests, world.outputs_of_kind(kind), *under)
    if known.last is not None and same(known.last[0], drawn_from):
        return known.last[1]
    stays = True
    before, known.admitted = known.admitted, {}
    views: dict[str, V] = {}
    records: dict[ObjectKey, Body] = {}
    failed: dict[str, Failed] = {}
    for manifest in manifests:
        key, output = manifest.key, world.outputs.get(manifest.key)
        present = output.body if output is not None else None
        cache_key = (manifest.body, present, *under)
        drawn = before.get(key.name)
        found = None if drawn is None or not same(drawn[0], cache_key) else drawn[1]
        if found is None:
            refused = None if fault is None else partial(fault, manifest)
            work = partial(admit, manifest, output)
            admitted = attempt(work, partial(place_of, manifest), refused)
            if isinstance(admitted, Failed):
                failed[key.name], stays = admitted, False
                records |= {} if present is None else {key: present}
                continue
            found = admitted
        if found.record is None or found.record is present:
            known.admitted[key.name] = (cache_key, found)
        else:
            stays = False
        views[key.name] = found.view
        if found.record is not None:
            records[key] = found.record
    inventory = ClusterInventory(views, records, failed)
    known.last = (drawn_from, inventory) if stays else None
    return inventory
