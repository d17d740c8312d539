"""Which delivered files go: what Flux and Argo CD then delete from a cluster.

A file goes by itself only if a decision took it away: a move, an eviction, a removal that the brake
on removals let through. Where a whole folder goes for another reason, a person must say so.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from reconciler.delivery.carriage import FLUX_PRUNE, KEPT_BY_FLUX
from reconciler.delivery.settings import Destination, Folder
from reconciler.manifests.admission import digest
from reconciler.model.enumeration import enumerated
from reconciler.model.settings import CONFIGURATION_PATH, Safety
from reconciler.model.world import Fault

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
    why |= {path: NEW for one in first for path in leftovers.replaced.get(one, ())}
    kept: set[str] = set()
    if leftovers.doubtful:  # what cannot be read is a fault by itself
        kept.update(*lost.values())
    else:
        why |= _too_many(lost, leftovers.sizes, safety)
    allowed = digest(sorted(why)) if why else ""
    if not why or safety.allow == allowed:
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
    return next((one for one in destinations if one.holds(path)), None)


def _fault(why: Mapping[str, str], allowed: str) -> Fault:
    """Return what is held back, why, and how to let it go."""
    reasons = Counter(why.values())
    told = enumerated((reason for reason, _ in sorted(reasons.items())), NAMED)
    return Fault(
        path=CONFIGURATION_PATH,
        line=0,
        column=0,
        field="/spec/safety/allow",
        rule=PRUNING_HELD,
        message=(
            f"{len(why)} delivered files would go or be replaced, so they are kept for now "
            f"({told}): {enumerated(sorted(why), NAMED)}"
        ),
        expected=(
            f"`allow: {allowed}` below `spec.safety` in {CONFIGURATION_PATH} to let exactly these "
            "go, or the configuration as it was"
        ),
    )
