"""What is wrong in a fleet now, and how its repository stands.

Trouble is about clusters, objects and files that somebody should look at. The status of a
repository has its last pass, its faults, what is held back or suspended, and what there is.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Self

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.audit.fleet.copy_counts import CopyCounts, CountedWorld, count_copies
from reconciler.audit.fleet.placed import present_in
from reconciler.audit.fleet.suspensions import Suspender, Suspensions
from reconciler.audit.fleet.usage import DECLARED, Usage
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.core.message import target_name
from reconciler.core.record import last_pass, recorded_faults
from reconciler.delivery.settings import decode_delivery, recorded
from reconciler.dialects.view import CopyStatus
from reconciler.manifests.paths import ALONE, RECORD
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import differing_keys
from reconciler.model.settings import settings_in
from reconciler.model.world import Fault, HeldFile, Manifest, World
from reconciler.rebalance.rebalancer_files import WorkloadResult, decode_record
from reconciler.rebalance.schedule_trigger import decode_trigger_status
from reconciler.rebalance.target import REBALANCE_KINDS
from reconciler.staging.view import waiting_in

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
        failed: What rebalancers and triggers could not rebalance, sorted, each with whose and why.
        faults: What is wrong with files, sorted.
        held: The faulty files whose last good documents are in force, sorted.
    """

    not_ready: Sequence[Usage] = ()
    silent: Sequence[Usage] = ()
    over: Sequence[Usage] = ()
    unplaced: Mapping[ObjectKey, str] = field(default_factory=dict)
    waiting: Mapping[ObjectKey, tuple[CopyStatus, ...]] = field(default_factory=dict)
    suspended: Sequence[Suspender] = ()
    failed: "Sequence[FailedRebalance]" = ()
    faults: Sequence[Fault] = ()
    held: Sequence[HeldFile] = ()

    @property
    def down(self) -> frozenset[str]:
        """The names of clusters on which nothing counts as well."""
        reports = (*self.not_ready, *self.silent)
        return frozenset(one.key.name for one in reports if one.ready not in WELL)

    @property
    def leaving(self) -> Mapping[str, int]:
        """How many objects are leaving a cluster whose copies are there still, by its name."""
        copies = (copy for found in self.waiting.values() for copy in found if copy.leaving)
        return Counter(str(copy.cluster) for copy in copies)


class FailedRebalance(NamedTuple):
    """One target of a rebalancer or trigger that it could not rebalance, and why."""

    by: ObjectKey
    target: str
    reason: str


def failed_rebalances(world: World) -> tuple[FailedRebalance, ...]:
    """Return what rebalancers and triggers that are there still could not rebalance, sorted."""
    rows: list[FailedRebalance] = []
    for kind in REBALANCE_KINDS:
        for output in world.outputs_of_kind(kind.id):
            if output.key not in world.inputs:
                continue
            failures = [
                (one.reference, one.reason)
                for one in decode_record(output.body).workloads
                if one.result == WorkloadResult.FAILED
            ]
            failures += decode_trigger_status(output.body).failed
            rows += (
                FailedRebalance(output.key, target_name(reference), reason)
                for reference, reason in failures
            )
    return tuple(sorted(rows))


class PlacementTrouble:
    """Which objects lack clusters, and of which copies may wait, followed from world to world.

    Attributes:
        world: That was followed to last.
        unplaced: Objects that lack clusters, with why.
        may_wait: Objects of which copies may wait.
        surely_wait: Those of them of which one does, whatever is reported.
        suspensions: What people suspended.
    """

    def __init__(self, world: World) -> None:
        """Look at every decision."""
        self.world = world
        self.unplaced: dict[ObjectKey, str] = {}
        self.may_wait: set[ObjectKey] = set()
        self.surely_wait: set[ObjectKey] = set()
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
            self.surely_wait.discard(key)
            if (manifest := world.outputs.get(key)) is not None:
                self._look(manifest)
        self.suspensions = self.suspensions.followed(world)
        self.world = world
        return self

    def count_waiting(self, now: datetime) -> int:
        """Return how many objects have copies that wait; of most that was told when they moved."""
        unsure = self.may_wait - self.surely_wait
        return len(self.surely_wait) + len(dict(_waiting(self, now, unsure)))

    def _look(self, manifest: Manifest) -> None:
        dialect = dialect_of(manifest.key.group)
        if dialect is None:
            return
        view = dialect.view()
        if problem := view.outputs.problem_of(manifest.body):
            self.unplaced[manifest.key] = problem
        if view.outputs.may_wait(manifest.body):
            self.may_wait.add(manifest.key)
            if view.outputs.surely_waits(manifest.body):
                self.surely_wait.add(manifest.key)


class FleetHealth(NamedTuple):
    """Clusters with which something is wrong, by name; a cluster may be over-committed besides."""

    not_ready: tuple[Usage, ...]
    silent: tuple[Usage, ...]
    over: tuple[Usage, ...]


def health_of(clusters: Sequence[Usage]) -> FleetHealth:
    """Return the clusters with which something is wrong."""
    return FleetHealth(
        not_ready=tuple(u for u in clusters if u.leaving or u.ready not in (*WELL, SILENT)),
        silent=tuple(u for u in clusters if not u.leaving and u.ready == SILENT),
        over=tuple(u for u in clusters if u.over),
    )


def trouble_of(
    usages: Iterable[Usage],
    placements: PlacementTrouble,
    now: datetime,
    *,
    faults: Sequence[Fault],
    waits: bool = True,
) -> Trouble:
    """Return what is wrong.

    Args:
        usages: Every cluster with what is on it.
        placements: Of the same world.
        now: Moment of the question, aware UTC.
        faults: What is wrong with the files.
        waits: Whether it is told of each copy that waits, and for what.
    """
    world, health = placements.world, health_of(list(usages))
    return Trouble(
        not_ready=health.not_ready,
        silent=health.silent,
        over=health.over,
        unplaced=dict(sorted(placements.unplaced.items())),
        waiting=dict(_waiting(placements, now, placements.may_wait if waits else ())),
        suspended=placements.suspensions.foremost,
        failed=failed_rebalances(world),
        faults=faults,
        held=world.held,
    )


def is_well(usage: Usage) -> bool:
    """Return whether nothing is wrong with the health of a cluster."""
    return usage.ready in WELL and not usage.leaving


def _waiting(
    placements: PlacementTrouble, now: datetime, keys: Collection[ObjectKey]
) -> Iterable[tuple[ObjectKey, tuple[CopyStatus, ...]]]:
    """Yield those of some objects that have copies that wait, sorted."""
    if not keys:
        return
    copies = CopiesOf(placements.world, now, only=keys)
    for key in sorted(keys):
        waiting = tuple(one for one in copies.statuses(key) if one.waits_for)
        if waiting:
            yield key, waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStatus:
    """The answer.

    Attributes:
        last_at: Moment of the last pass that committed, `None` before the first one.
        inputs: Full hex id of the commit that it read, `""` before the first one.
        version: Of the reconciler that ran it, `""` before the first one.
        faults: What is wrong with the files, and what the last pass found wrong, sorted.
        held: The faulty files whose last good documents are in force, sorted.
        all_suspended: Whether passes leave everything as it is.
        suspended: The objects that a person suspended, sorted.
        counts: How many objects there are of each kind, sorted by kind; our own records are none.
        rebalancers: Those that demand a rebalance, sorted.
        delivered: Where decisions are delivered to, sorted, one sentence each.
        copies: How many copies there are in clusters, reported and healthy.
        waiting: What waits for a person to act, with a clause that says for what, sorted.
    """

    last_at: datetime | None
    inputs: str
    version: str
    faults: tuple[Fault, ...]
    held: tuple[HeldFile, ...]
    all_suspended: bool
    suspended: tuple[ObjectKey, ...]
    counts: Mapping[Kind, int]
    rebalancers: tuple[ObjectKey, ...]
    delivered: tuple[str, ...]
    copies: CopyCounts
    waiting: tuple[tuple[ObjectKey, str], ...] = ()


def status_of(
    world: World,
    now: datetime,
    *,
    changed: bool,
    counted: CountedWorld | None = None,
    suspensions: Suspensions | None = None,
) -> RepositoryStatus:
    """Return how a repository stands.

    Args:
        world: Its files.
        now: Moment of the question, aware UTC.
        changed: Whether people committed something since the last pass: then what that pass found
            wrong may be mended, and is left out.
        counted: A world whose copies were counted, if one is known; it only saves work.
        suspensions: Those of the world, if they were looked for before.
    """
    suspended = (suspensions or Suspensions(world)).suspenders
    last = last_pass(world.outputs)
    record = world.outputs.get(RECORD)
    present = present_in(world) - {*ALONE}
    return RepositoryStatus(
        last_at=None if last is None else last.at,
        inputs="" if last is None else last.revision,
        version="" if record is None else text(mapping(record.body, "status"), "version"),
        faults=faults_of(world, changed=changed),
        held=world.held,
        all_suspended=settings_in(world).suspend,
        suspended=tuple(sorted(suspended)),
        counts=dict(sorted(Counter((key.group, key.kind) for key in present).items())),
        rebalancers=tuple(sorted(k for k in world.inputs if k[:2] in world.known.removable)),
        delivered=tuple(_delivered(world)),
        copies=count_copies(world, now, counted),
        waiting=tuple(
            sorted(
                (
                    *(one for api in DIALECTS for one in api.view().world.waiting(world)),
                    *waiting_in(world),
                )
            )
        ),
    )


def faults_of(world: World, *, changed: bool) -> tuple[Fault, ...]:
    """Return what is wrong, sorted; `changed` is as for `status_of`."""
    recorded = () if changed else recorded_faults(world.outputs)
    return _each_once((*world.faults, *recorded))


def _delivered(world: World) -> Iterator[str]:
    """Yield where decisions are delivered to, and how many files of manifests are there."""
    wanted = decode_delivery(settings_in(world)).destinations
    had = recorded(world.outputs)
    for path in sorted({*wanted, *had}):
        if path.branch:
            yield f"{path.transport} in {path.path} on the branch {path.branch}"
            continue
        count = sum(map(path.holds, world.delivered))
        files = f"{count} file{'s' if count != 1 else ''}"
        waits = "" if path in had else "; nothing is delivered there yet"
        over = "" if path in wanted else "; it is switched off, and its files are kept"
        yield f"{path.transport} in {path.path}: {files}{waits}{over}"


def _each_once(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Return faults sorted, those that say the same of the same place once."""
    seen = {(one.path, one.line, one.rule, one.message): one for one in reversed(faults)}
    return tuple(sorted(seen.values()))
