"""The clusters of one API as its controllers would leave them, and their reports of copies.

The loop over clusters stands here once. Upstream writes taints into the cluster. Here a person's
file is never rewritten: what follows from conditions is derived at each pass, and what must be
remembered stands in the cluster's status file. Reports of copies are plain ones, and objects of
agents.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Generic, TypeVar

from reconciler.dialects.object_pass import Failed, attempt, place_of
from reconciler.dialects.reads import Followed, FollowedIndex
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import CopyReport, Kind
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import CacheKey, Versioned, patched, same
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


@dataclass(frozen=True, slots=True)
class CopyReports:
    """Reports by keys that name the reporter; a plain one is nearer to the cluster, so it counts.

    Attributes:
        plain: All feedback; the objects of agents among it are reports of themselves only.
        carried: What these say of other objects.
    """

    plain: Mapping[ObjectKey, Manifest] = field(default_factory=dict, repr=False)
    carried: Mapping[ObjectKey, CopyReport] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.plain)

    def of(self, key: ObjectKey, cluster: str) -> CopyReport | None:
        """Return what a cluster says of its copy of an object, `None` if nothing."""
        if not self.plain:
            return None
        reported = key._replace(reporter=cluster)
        copies = self.plain.get(reported)
        return self.carried.get(reported) if copies is None else CopyReport(body=copies.body)


CarriedReports = Mapping[ObjectKey, CopyReport]
"""What one object of an agent says of others, by keys that name the reporter."""


@dataclass(slots=True, eq=False)
class CopyTable:
    """The reports of the world that was asked about last; it is changed in place."""

    _feedback: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _unpacked: Mapping[ObjectKey, CarriedReports] = field(default_factory=Versioned, repr=False)
    _carriers: FollowedIndex[ObjectKey, CarriedReports] = field(
        default_factory=lambda: FollowedIndex(lambda _key, carried: carried)
    )
    _carried: Mapping[ObjectKey, CopyReport] = field(default_factory=Versioned, repr=False)

    def follow(self, world: World) -> CopyReports:
        """Return the reports of a world; of two carriers of one object the lesser key counts."""
        came, gone = dict[ObjectKey, CarriedReports](), list[ObjectKey]()
        for key, _, now in self._feedback.follow(world.feedback):
            unpack = world.known.carriers.get((key.group, key.kind))
            if unpack is None:
                continue
            if now is None:
                gone.append(key)
            else:
                reported = unpack(now.body)
                came[key] = {
                    one._replace(reporter=key.reporter): report for one, report in reported
                }
        self._unpacked = patched(self._unpacked, came, gone)
        touched = self._carriers.follow(self._unpacked)
        chosen = ((one, self._carriers.found(one)) for one in touched)
        counting = {one: next(iter(reported.values()))[one] for one, reported in chosen if reported}
        self._carried = patched(self._carried, counting, touched)
        return CopyReports(world.feedback, self._carried)


@dataclass(slots=True, eq=False)
class ReportedObjects:
    """What was reported when it was followed last; it is changed in place."""

    _plain: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _carried: Followed[ObjectKey, CopyReport] = field(default_factory=Followed)

    def follow(self, copies: CopyReports) -> set[ObjectKey]:
        """Go on to other reports, and return the objects on which they differ."""
        plain, carried = self._plain.follow(copies.plain), self._carried.follow(copies.carried)
        keys = {step.key for step in carried}
        for key, before, now in plain:
            if before is None or now is None or now.body is not before.body:
                keys.add(key)
        return {key._replace(reporter="") for key in keys}
