"""The clusters of one API as its controllers would leave them; the loop over them stands here once.

Upstream writes taints into the cluster. Here a person's file is never rewritten: what follows from
conditions is derived at each pass, and what must be remembered stands in the cluster's status file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import CacheKey, same
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Fault, Manifest, World

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
        records: Those of their status files that are not as they stand there.
        failed: The others, by name; what is on one of them stays as it is.
        gone: The status files of clusters that are not there any more.
    """

    views: Mapping[str, V]
    records: Mapping[ObjectKey, Body]
    failed: Mapping[str, Failed]
    gone: frozenset[ObjectKey] = frozenset()


@dataclass(slots=True, eq=False)
class InventoryCache(Generic[V]):
    """The clusters of earlier rounds, by name, and the whole inventory while nothing changes.

    Attributes:
        admitted: Those that stay, with what they were drawn from.
        views: All of the last round: one that is drawn again to the same is the very same.
        last: The inventory, with what it was drawn from.
    """

    admitted: dict[str, tuple[CacheKey, AdmittedCluster[V]]] = field(default_factory=dict)
    views: Mapping[str, V] = field(default_factory=dict)
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
    kept: set[ObjectKey] = set()
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
                kept.add(key)
                continue
            known_view = known.views.get(key.name)
            found = admitted if known_view != admitted.view else replace(admitted, view=known_view)
        if found.record is None or found.record is present:
            known.admitted[key.name] = (cache_key, found)
        else:
            stays, records[key] = False, found.record
        views[key.name] = found.view
        if found.record is not None:
            kept.add(key)
    gone = frozenset(one.key for one in world.outputs_of_kind(kind) if one.key not in kept)
    inventory = ClusterInventory(views, records, failed, gone)
    known.views, known.last = views, (drawn_from, inventory) if stays else None
    return inventory


@dataclass(slots=True, eq=False)
class Earlier(Generic[V]):
    """What is not as it was at the last pass: the keys, sorted, and what returns all as it was.

    It is drawn when it is first asked for: most passes need no cause that it could tell.
    """

    keys: tuple[ObjectKey, ...]
    draw: Callable[[], V]
    _drawn: list[V] = field(default_factory=list)

    def __call__(self) -> V:
        """Return all as it was."""
        if not self._drawn:
            self._drawn.append(self.draw())
        return self._drawn[0]


M = TypeVar("M")


def clusters_before(
    world: World,
    kind: Kind,
    views: Mapping[str, V],
    admit: Callable[[Manifest, Manifest | None], AdmittedCluster[V]],
    fleet: Callable[[list[V]], M],
) -> Earlier[M] | None:
    """Return the fleet as it was at the last pass, `None` if no cluster differs.

    Args:
        world: Its `earlier` has the clusters that differ.
        kind: Of the clusters.
        views: As they are, by name.
        admit: Makes a view of a manifest and its status file.
        fleet: Makes a fleet of views.
    """
    edited = tuple(world.earlier_of([kind]))
    if not edited:
        return None
    return Earlier(edited, lambda: fleet(list(views_before(world, kind, views, admit).values())))


def views_before(
    world: World,
    kind: Kind,
    views: Mapping[str, V],
    admit: Callable[[Manifest, Manifest | None], AdmittedCluster[V]],
) -> dict[str, V]:
    """Return the clusters as they were at the last pass, by name, sorted.

    Args:
        world: Its `earlier` has the clusters that differ.
        kind: Of the clusters.
        views: As they are.
        admit: Makes a view of a manifest and its status file.
    """
    found = dict(views)
    for key, manifest in world.earlier_of([kind]).items():
        found.pop(key.name, None)
        if manifest is not None:
            work = partial(admit, manifest, world.outputs.get(key))
            admitted = attempt(work, partial(place_of, manifest))
            if not isinstance(admitted, Failed):
                found[key.name] = admitted.view
    return dict(sorted(found.items()))
