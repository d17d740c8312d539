"""How a repository stands: its last pass, what is wrong, held or suspended, what there is."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.copy_counts import CopyCounts, CountedWorld, count_copies
from reconciler.audit.fleet.placed import present_in
from reconciler.audit.fleet.suspensions import Suspensions
from reconciler.core.dialects import DIALECTS
from reconciler.core.record import last_pass, recorded_faults
from reconciler.delivery.record import recorded
from reconciler.delivery.settings import decode_delivery
from reconciler.manifests.paths import ALONE, RECORD
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.settings import settings_in
from reconciler.model.world import Fault, HeldFile, World


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
    world: World, now: datetime, *, changed: bool, counted: CountedWorld | None = None
) -> RepositoryStatus:
    """Return how a repository stands.

    Args:
        world: Its files.
        now: Moment of the question, aware UTC.
        changed: Whether people committed something since the last pass: then what that pass found
            wrong may be mended, and is left out.
        counted: A world whose copies were counted, if one is known; it only saves work.
    """
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
        suspended=tuple(sorted(Suspensions(world).suspenders)),
        counts=dict(sorted(Counter((key.group, key.kind) for key in present).items())),
        rebalancers=tuple(sorted(k for k in world.inputs if k[:2] in world.known.removable)),
        delivered=tuple(_delivered(world)),
        copies=count_copies(world, now, counted),
        waiting=tuple(sorted(one for api in DIALECTS for one in api.view().waiting(world))),
    )


def faults_of(world: World, *, changed: bool) -> tuple[Fault, ...]:
    """Return what is wrong, sorted; `changed` is as for `status_of`."""
    found = () if changed else recorded_faults(world.outputs)
    return _each_once((*world.faults, *found))


def _delivered(world: World) -> Iterator[str]:
    """Yield where decisions are delivered to, and how many files of manifests are there."""
    wanted = decode_delivery(settings_in(world)).destinations
    had = recorded(world.outputs)
    for one in sorted({*wanted, *had}):
        if one.branch:
            yield f"{one.transport} in {one.path} on the branch {one.branch}"
            continue
        count = sum(map(one.holds, world.delivered))
        files = f"{count} file{'s' if count != 1 else ''}"
        waits = "" if one in had else "; nothing is delivered there yet"
        over = "" if one in wanted else "; it is switched off, and its files are kept"
        yield f"{one.transport} in {one.path}: {files}{waits}{over}"


def _each_once(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Return faults sorted, those that say the same of the same place once."""
    seen = {(one.path, one.line, one.rule, one.message): one for one in reversed(faults)}
    return tuple(sorted(seen.values()))
