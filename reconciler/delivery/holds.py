"""Where nothing is written and nothing deleted for now, so that each cluster keeps what it had.

A transport holds where something stands in its way that is no folder, or no plain file: all of its
files, and nothing of other transports. A cluster's folder holds where two of its files would have
one object, which no tool builds.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from reconciler.delivery.destinations import MISPLACED
from reconciler.delivery.kustomization import built_as_one, kustomization_path, kustomized
from reconciler.delivery.memory import DeliveryMemory
from reconciler.delivery.owned_files import at_and_above
from reconciler.delivery.settings import DeliverySettings, Destination, Folder, by_folder
from reconciler.model.identity import ClusterName
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.world import Fault

SAME_OBJECT = "delivery-same-object"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryHolds:
    """What holds, and why.

    Attributes:
        destinations: Those with something in the way.
        folders: Those of clusters in which two files would have one object.
        faults: What a person must edit, sorted.
    """

    destinations: frozenset[Destination] = frozenset()
    folders: tuple[Folder, ...] = ()
    faults: tuple[Fault, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.destinations or self.folders)

    def __contains__(self, path: str) -> bool:
        return any(one.holds(path) for one in self.destinations) or any(
            folder.destination.holds(path) and folder.destination.cluster_of(path) == folder.cluster
            for folder in self.folders
        )

    def without(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield the paths that nothing holds."""
        return (path for path in paths if path not in self) if self else iter(paths)


def holds_of(
    memory: DeliveryMemory,
    settings: DeliverySettings,
    fleet: Collection[ClusterName],
    obstacles: Collection[str],
) -> DeliveryHolds:
    """Return what holds.

    Args:
        memory: Which files there should be, and which of them are not there as they should be.
        settings: Where is delivered to.
        fleet: All clusters.
        obstacles: What stands in the way: files where a folder may have to be, links, folders that
            are named like files.
    """
    if not obstacles and not memory.renamed:
        return DeliveryHolds()
    blocked = dict(_blocked(memory, settings, fleet, frozenset(obstacles)))
    doubled = dict(_doubled(memory, settings))
    folders = by_folder([path for pair in doubled.values() for path in pair], settings.destinations)
    return DeliveryHolds(
        destinations=frozenset(blocked),
        folders=tuple(sorted(folders)),
        faults=(
            *(_in_the_way(one, path) for one, path in sorted(blocked.items())),
            *(_same_object(memory, *pair) for _, pair in sorted(doubled.items())),
        ),
    )


def _blocked(
    memory: DeliveryMemory,
    settings: DeliverySettings,
    fleet: Collection[ClusterName],
    obstacles: frozenset[str],
) -> Iterator[tuple[Destination, str]]:
    """Yield each destination that has something in its way, with the first of it."""
    if not obstacles:
        return
    with_kustomization = kustomized(settings)
    for one in settings.destinations:
        wanted = [path for path in memory.lacking if one.holds(path)]
        if one in with_kustomization:
            wanted += [kustomization_path(Folder(one, name)) for name in fleet]
        ways = {path for way in (one.root, *wanted) for path in at_and_above(way)}
        found = min(ways & obstacles, default="")
        if found:
            yield one, found


def _doubled(
    memory: DeliveryMemory, settings: DeliverySettings
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the files that would have one object, by where the object would stand by itself."""
    destinations = built_as_one(settings)
    for place, paths in memory.renamed.items():
        found = set(paths)
        if place in memory.claims and memory.identity_of(place) == place:
            found.add(place)
        if len(found) > 1 and any(one.holds(place) for one in destinations):
            yield place, tuple(sorted(found))


def _in_the_way(destination: Destination, path: str) -> Fault:
    """Return what stands in the way of a transport."""
    name = destination.transport
    return Fault(
        path=path,
        line=0,
        column=0,
        field="",
        rule=MISPLACED,
        message=(
            f"nothing is delivered as {name}, for what stands here is in the way of "
            f"`{destination.place}`: no folder where one must be, or no plain file"
        ),
        expected=f"nothing at this path, or another `path` for {name} in {CONFIGURATION_PATH}",
    )


def _same_object(memory: DeliveryMemory, first: str, other: str, *_more: str) -> Fault:
    """Return which two decisions put one object onto a cluster."""
    one, two = memory.claims[first][0].key, memory.claims[other][0].key
    both = f"{one} and {two}" if one != two else f"two objects of {one}"
    return Fault(
        path=other,
        line=0,
        column=0,
        field="",
        rule=SAME_OBJECT,
        message=(
            f"{both} would be one object on this cluster once overrides are applied ({first}), "
            "so the cluster keeps what it had"
        ),
        expected="overrides that leave each object on a cluster a name of its own",
        subject=str(two),
    )
