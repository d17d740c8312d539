"""What is wrong in a fleet now: clusters, objects and files that somebody should look at."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from reconciler.audit.fleet.delivered_copies import CopiesOf
from reconciler.audit.fleet.suspensions import Suspender, Suspensions
from reconciler.audit.fleet.usage import DECLARED, Usage
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.dialects.copy_status import CopyStatus
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Fault, HeldFile, Manifest, World

WELL = ("True", DECLARED)
SILENT = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What is wrong; each part is empty where nothing is.

    Attributes:
        not_ready: Clusters that report that they are not ready, or are being deleted, by name.
        silent: Clusters of which it is not known any more whether they are ready, by name.
        over: Clusters on which more is placed than there is, by name.
        unplaced: Objects that lack clusters, with why, sorted.
        waiting: Objects with copies that wait, sorted, each with those copies.
        suspended: What people suspended, sorted; everything is one.
        faults: What is wrong with files, sorted.
        held: The faulty files whose last good documents are in force, sorted.
    """

    not_ready: Sequence[Usage] = ()
    silent: Sequence[Usage] = ()
    over: Sequence[Usage] = ()
    unplaced: Mapping[ObjectKey, str] = field(default_factory=dict)
    waiting: Mapping[ObjectKey, tuple[CopyStatus, ...]] = field(default_factory=dict)
    suspended: Sequence[Suspender] = ()
    faults: Sequence[Fault] = ()
    held: Sequence[HeldFile] = ()

    @property
    def leaving(self) -> Mapping[str, int]:
        """How many objects are leaving a cluster whose copies are there still, by its name."""
        copies = (copy for found in self.waiting.values() for copy in found if copy.leaving)
        return Counter(str(copy.cluster) for copy in copies)


class PlacementTrouble:
    """Which objects lack clusters, and of which copies may wait, followed from world to world.

    Attributes:
        world: That was followed to last.
        unplaced: Objects that lack clusters, with why.
        may_wait: Objects of which copies may wait.
        suspensions: What people suspended.
    """

    def __init__(self, world: World) -> None:
        """Look at every decision."""
        self.world = world
        self.unplaced: dict[ObjectKey, str] = {}
        self.may_wait: set[ObjectKey] = set()
        self.suspensions = Suspensions(world)
        for dialect in DIALECTS:
            for kind in dialect.placed:
                for manifest in world.outputs_of_kind(kind):
                    self._look(manifest)

    def follow(self, world: World) -> Self:
        """Go on to another world: only what differs is looked at."""
        for key in differing_keys(world.outputs, self.world.outputs):
            if key[:2] not in PLACED:
                continue
            self.unplaced.pop(key, None)
            self.may_wait.discard(key)
            if (manifest := world.outputs.get(key)) is not None:
                self._look(manifest)
        self.suspensions = self.suspensions.followed(world)
        self.world = world
        return self

    def _look(self, manifest: Manifest) -> None:
        dialect = dialect_of(manifest.key.group)
        if dialect is None:
            return
        view = dialect.view()
        if problem := view.problem_of(manifest.body):
            self.unplaced[manifest.key] = problem
        if view.may_wait(manifest.body):
            self.may_wait.add(manifest.key)


def trouble_of(
    usages: Iterable[Usage],
    placements: PlacementTrouble,
    now: datetime,
    *,
    faults: Sequence[Fault],
) -> Trouble:
    """Return what is wrong.

    Args:
        usages: Every cluster with what is on it.
        placements: Of the same world.
        now: Moment of the question, aware UTC.
        faults: What is wrong with the files.
    """
    world, clusters = placements.world, list(usages)
    suspensions = placements.suspensions
    whole = suspensions.everything
    return Trouble(
        not_ready=tuple(u for u in clusters if u.leaving or u.ready not in (*WELL, SILENT)),
        silent=tuple(u for u in clusters if not u.leaving and u.ready == SILENT),
        over=tuple(u for u in clusters if u.over),
        unplaced=dict(sorted(placements.unplaced.items())),
        waiting=dict(_waiting(placements, now)),
        suspended=(whole,) if whole is not None else tuple(sorted(suspensions.suspenders.values())),
        faults=faults,
        held=world.held,
    )


def is_well(usage: Usage) -> bool:
    """Return whether nothing is wrong with the health of a cluster."""
    return usage.ready in WELL and not usage.leaving


def _waiting(
    placements: PlacementTrouble, now: datetime
) -> Iterable[tuple[ObjectKey, tuple[CopyStatus, ...]]]:
    """Yield the objects with copies that wait, sorted."""
    if not placements.may_wait:
        return
    copies = CopiesOf(placements.world, now, only=placements.may_wait)
    for key in sorted(placements.may_wait):
        found = tuple(one for one in copies.statuses(key) if one.waits_for)
        if found:
            yield key, found
