"""Which delivered files go: what Flux and Argo CD then delete from a cluster.

A file goes by itself only if a decision took it away: a move, an eviction, a removal that the brake
on removals let through. Where a whole folder goes for another reason, a person must say so.

A hold means that nothing is written and nothing deleted for now, so that each cluster keeps what it
had. A transport holds where something stands in its way that is no folder, or no plain file: all of
its files, and nothing of other transports. A cluster's folder holds where two of its files would
have the same object, which no tool builds.

Some files stay once no decision wants them, since their objects are to outlive that. A mark that
keeps from pruning works only where it is on the live object before its file goes. As long as
somebody asks for it the mark stands in the file, so that a later removal takes the file away and
nothing else. Where asking and removal come in one merge, or where an API acts on it only once the
decision is gone, the file gets its mark then and stays until a report shows it on the object, or a
person lets it go.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from reconciler.delivery.carriage import FLUX_PRUNE, KEPT_BY_FLUX, TABLE, Effect, is_marked
from reconciler.delivery.kustomization import built_as_one, kustomization_path, kustomized
from reconciler.delivery.memory import (
    DeliveryMemory,
    FileOwner,
    at_and_above,
    is_in,
    places,
    texts_of,
)
from reconciler.delivery.settings import (
    MISPLACED,
    DeliverySettings,
    Destination,
    Folder,
    Outliving,
    OutlivingFile,
    by_folder,
)
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt
from reconciler.dialects.renderer import (
    UNKNOWN_OBJECTS,
    Affected,
    Instruction,
    Reach,
    Rendered,
    Renderer,
    Wraps,
)
from reconciler.errors import UserError
from reconciler.manifests.admission import digest
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import differing_keys
from reconciler.model.settings import CONFIGURATION_PATH, Safety
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, World

FEWEST = 10  # files of a folder from which on a share says something
NAMED = 3
PRUNING_HELD = "delivery-pruning-held"
NEW = "nothing was delivered there before"
OUTLIVES = (
    "the objects are to outlive that, and no report shows them with the annotation "
    f"{FLUX_PRUNE}: {KEPT_BY_FLUX}"
)


@dataclass(frozen=True, slots=True)
class Pruning:
    """What goes, what is held back and stays, and where nothing is delivered until it is let go."""

    gone: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    waiting: frozenset[Destination] = frozenset()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """Files below the roots of delivery that no decision wants any more.

    Attributes:
        left: They, but for those that stay with their decision.
        configured: Where is delivered to.
        recorded: Where earlier passes delivered to.
        sizes: How many files each folder of a cluster has.
        replaced: Files that a first delivery would write over, by destination.
        is_explained: Whether a decision of this pass took a file away.
        doubtful: Whether there are decisions that cannot be read, whose files these may be.
        outliving: Files whose objects are to outlive them and have no mark yet.
    """

    left: frozenset[str]
    configured: tuple[Destination, ...]
    recorded: tuple[Destination, ...]
    sizes: Mapping[Folder, int]
    replaced: Mapping[Destination, frozenset[str]]
    is_explained: Callable[[str], bool]
    doubtful: bool = False
    outliving: Collection[str] = ()


def prune(leftovers: Leftovers, safety: Safety) -> Pruning:
    """Return which leftovers go, and which must be let go by a digest."""
    first = [one for one in leftovers.configured if one not in leftovers.recorded]
    why: dict[str, str] = {}
    lost: dict[Folder, set[str]] = defaultdict(set)
    for path in leftovers.left:
        mine = _destination(path, leftovers.configured)
        if mine is None:
            why[path] = "nothing is delivered there any more"
        elif mine in first:
            why[path] = NEW
        elif path in leftovers.outliving:
            why[path] = OUTLIVES
        elif not leftovers.is_explained(path):
            lost[Folder(mine, mine.cluster_of(path))].add(path)
    why |= {path: NEW for destination in first for path in leftovers.replaced.get(destination, ())}
    kept: set[str] = set()
    if leftovers.doubtful:  # what cannot be read is a fault by itself
        kept.update(*lost.values())
    else:
        why |= _too_many(lost, leftovers.sizes, safety)
    allowed = digest(sorted(why)) if why else ""
    if not why or allowed in safety.allow:
        return Pruning(gone=leftovers.left - kept)
    return Pruning(
        gone=leftovers.left - kept - why.keys(),
        held=frozenset(why),
        waiting=frozenset(one for one in first if any(_destination(path, [one]) for path in why)),
        faults=(_fault(why, allowed),),
    )


def _too_many(
    lost: Mapping[Folder, set[str]], sizes: Mapping[Folder, int], safety: Safety
) -> dict[str, str]:
    """Return the files of folders that would lose more than the limit, and why they are held."""
    why: dict[str, str] = {}
    for folder, paths in lost.items():
        total = sizes.get(folder, 0)
        if total >= FEWEST and len(paths) * 100 > total * safety.max_removed_percent:
            why |= dict.fromkeys(paths, f"{folder.path} would lose {len(paths)} of {total} files")
    return why


def _destination(path: str, destinations: Iterable[Destination]) -> Destination | None:
    """Return the destination below whose root a file stands, `None` if there is none."""
    return next((destination for destination in destinations if destination.holds(path)), None)


def _fault(why: Mapping[str, str], allowed: str) -> Fault:
    """Return what is held back, why, and how to let it go."""
    reasons = Counter(why.values())
    listed = enumerated((reason for reason, _ in sorted(reasons.items())), NAMED)
    return Fault.of_file(
        CONFIGURATION_PATH,
        field="/spec/safety/allow",
        rule=PRUNING_HELD,
        message=(
            f"{len(why)} delivered files would go or be replaced, so they are kept for now "
            f"({listed}): {enumerated(sorted(why), NAMED)}"
        ),
        expected=(
            f"`allow: {allowed}` below `spec.safety` in {CONFIGURATION_PATH} to let exactly these "
            "go, or the configuration as it was"
        ),
        allow=allowed,
    )


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
        return any(destination.holds(path) for destination in self.destinations) or any(
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
    for destination in settings.destinations:
        wanted = [path for path in memory.lacking if destination.holds(path)]
        if destination in with_kustomization:
            wanted += [kustomization_path(Folder(destination, name)) for name in fleet]
        ways = {path for way in (destination.root, *wanted) for path in at_and_above(way)}
        obstacle = min(ways & obstacles, default="")
        if obstacle:
            yield destination, obstacle


def _doubled(
    memory: DeliveryMemory, settings: DeliverySettings
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the files that would have one object, by where the object would stand by itself."""
    destinations = built_as_one(settings)
    for place, paths in memory.renamed.items():
        files = set(paths)
        if place in memory.claims and memory.identity_of(place) == place:
            files.add(place)
        if len(files) > 1 and any(destination.holds(place) for destination in destinations):
            yield place, tuple(sorted(files))


def _in_the_way(destination: Destination, path: str) -> Fault:
    name = destination.transport
    return Fault.of_file(
        path,
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
    return Fault.of_file(
        other,
        rule=SAME_OBJECT,
        message=(
            f"{both} would be one object on this cluster once overrides are applied ({first}), "
            "so the cluster keeps what it had"
        ),
        expected="overrides that leave each object on a cluster a name of its own",
        subject=str(two),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMoves:
    """What a pass changed, and where that was and is.

    Attributes:
        before: The world as the pass found it.
        after: As it leaves it.
        then: What renders the decisions as they were, by API.
        now: What renders them as they are.
        affected: The decisions that are others by what is a part of them, `None` if any may be.
        destinations: Where is delivered to.
    """

    before: World
    after: World
    then: Mapping[str, Renderer]
    now: Mapping[str, Renderer]
    affected: Mapping[str, Affected | None]
    destinations: Collection[Destination]

    def changed(self) -> dict[str, frozenset[ObjectKey]]:
        """Return by API what the pass changed, with the decisions that a part of them changed."""
        changed = frozenset(
            (
                *differing_keys(self.after.outputs, self.before.outputs),
                *differing_keys(self.after.inputs, self.before.inputs),
            )
        )
        return {
            name: changed.union(() if affected is None else affected.own)
            for name, affected in self.affected.items()
        }

    def moved(self) -> Iterator[tuple[ObjectKey, Renderer, Reach, Reach]]:
        """Yield the decisions that changed, what rendered them, what they had and have where."""
        for name, keys in self.changed().items():
            then, now = self.then[name], self.now[name]
            for key in sorted(keys):
                reach = reach_of(then, key)
                if reach:
                    yield key, then, reach, reach_of(now, key) or {}


def reach_of(renderer: Renderer, key: ObjectKey) -> Reach | None:
    """Return what of a decision may be where, `None` if a person made it unreadable."""
    reach = attempt(partial(renderer.reach, key), partial(_place, key))
    return None if isinstance(reach, Failed) else reach


def _place(key: ObjectKey) -> FaultPlace:
    return FaultPlace(key.name, str(key))


def explained_by(moves: PassMoves) -> Callable[[str], bool]:
    """Return what tells whether a decision of a pass took a file away from a cluster.

    It did where it has left the cluster, or where it is known again what it has there.
    """
    taken: set[str] = set()
    for key, _, reach, since in moves.moved():
        left = {
            cluster
            for cluster, sources in reach.items()
            if cluster not in since
            or (UNKNOWN_OBJECTS in sources and UNKNOWN_OBJECTS not in since[cluster])
        }
        taken.update(places(key, reach, left, moves.destinations))
    return partial(is_in, found=frozenset(taken))


def taken_by_known(moves: PassMoves) -> Callable[[str], bool]:
    """Return what tells whether a file was of a decision of which it is known what it has now.

    Single objects that a decision no longer has count as well.
    """
    taken: set[str] = set()
    for key, then, reach, since in moves.moved():
        known = {one for one in reach if UNKNOWN_OBJECTS not in since.get(one, ())}
        taken.update(places(key, reach, known - since.keys(), moves.destinations))
        rendered = attempt(partial(then.render, key), partial(_place, key))
        if isinstance(rendered, Rendered):
            for work in rendered.works:
                if work.cluster in known:
                    had = {work.cluster: tuple(work.manifests)}
                    taken.update(places(key, had, had, moves.destinations))
    return partial(is_in, found=frozenset(taken))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlivingFiles:
    """The files that stay, and those that may go since a cluster reports the mark.

    Attributes:
        stay: They, by path.
        marked: Those of them that are written anew with the mark: path to text.
        released: Those that go.
    """

    stay: Mapping[str, OutlivingFile] = field(default_factory=dict)
    marked: Mapping[str, str] = field(default_factory=dict)
    released: frozenset[str] = frozenset()


def outliving_files(
    left: frozenset[str], moves: PassMoves, earlier: Outliving, wraps: Wraps
) -> OutlivingFiles:
    """Return what stays of the files that are left over.

    Args:
        left: Files that no decision wants any more.
        moves: What the pass changed.
        earlier: What the record says of earlier passes.
        wraps: How objects of one API carry what any decides.
    """
    recorded = {file.path: file for file in earlier.files if file.path in left}
    reports = {path: moves.before.feedback.get(file.source) for path, file in recorded.items()}
    released = {path for path, one in reports.items() if one is not None and is_marked(one.body)}
    stay = {path: file for path, file in recorded.items() if path not in released}
    marked: dict[str, str] = {}
    for name, key, reach, destinations in _asking(moves, earlier):
        new = dict(_left(key, reach, destinations, left))
        new = {path: file for path, file in new.items() if path not in recorded}
        stay |= new
        if new:
            marked |= _marked(FileOwner(name, key), moves.then[name], new, destinations, wraps)
    return OutlivingFiles(stay=stay, marked=marked, released=frozenset(released))


def _asking(
    moves: PassMoves, earlier: Outliving
) -> Iterator[tuple[str, ObjectKey, Reach, tuple[Destination, ...]]]:
    """Yield the API of each decision whose files stay, it, what of it is where, and by what."""
    carried = TABLE[Instruction.PRESERVED]
    every = tuple(one for one in moves.destinations if carried[one.transport].carried)
    late = TABLE[Instruction.ABANDON]
    some = tuple(one for one in moves.destinations if late[one.transport].effect is Effect.OUTLIVES)
    for name, keys in sorted(moves.changed().items()):
        then, now = moves.then[name], moves.now[name]
        for key in sorted(keys):
            asked = attempt(partial(then.unmarked, key), partial(_place, key))
            if not isinstance(asked, Failed) and asked:
                yield name, key, asked, every
            if key in earlier.owners and not reach_of(now, key):
                yield name, key, reach_of(then, key) or {}, some


def _left(
    key: ObjectKey, reach: Reach, destinations: Iterable[Destination], left: frozenset[str]
) -> Iterator[tuple[str, OutlivingFile]]:
    """Yield the files of a decision that are left over, by path."""
    where = {
        place: source._replace(reporter=cluster)
        for cluster, sources in reach.items()
        for source in sources
        for place in places(key, {cluster: (source,)}, [cluster], destinations)
    }
    for path in left if where else ():
        for place in at_and_above(path):
            if place in where:
                yield path, OutlivingFile(path, where[place])


def _marked(
    owner: FileOwner,
    then: Renderer,
    files: Mapping[str, OutlivingFile],
    destinations: Iterable[Destination],
    wraps: Wraps,
) -> dict[str, str]:
    """Return the files as they were with the mark; none that cannot be rendered any more."""
    rendered = attempt(partial(then.render, owner.key), partial(_place, owner.key))
    if rendered is None or isinstance(rendered, Failed):
        return {}
    preserved = frozenset({Instruction.PRESERVED})
    works = tuple(
        replace(work, asked=dict.fromkeys(work.manifests, preserved)) for work in rendered.works
    )
    try:
        texts = texts_of(owner, replace(rendered, works=works), destinations, wraps)
    except UserError:
        return {}
    return {path: texts[path] for path in files if path in texts}
