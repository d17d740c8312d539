"""The ledger of one round: opened from the files of clusters, and written back as it was left."""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from reconciler.core.ledger.ledger_file import (
    LEDGER,
    ClusterLedger,
    EncodedReservations,
    decode_ledger,
    encode_ledger,
    ledger_key,
)
from reconciler.core.ledger.placed_totals import PlacedTotals
from reconciler.core.ledger.review import is_shown, review
from reconciler.dialects.contract import CapacityRules, Dialect
from reconciler.dialects.copy_reports import CopyReports, CopyTable
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, UnchangedUntil
from reconciler.model.moments import add, earliest
from reconciler.model.resources import Resources
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World
from reconciler.schedule.capacity.ledger import Ledger, total_of
from reconciler.schedule.capacity.reported_room import ReportedRoom
from reconciler.schedule.capacity.settings import decode_protection

Rooms = Mapping[str, ReportedRoom]
"""Cluster to what an API says is left there, of those that tell."""


class ClusterLimits(NamedTuple):
    """An API whose decisions take room, and what is left in its clusters."""

    name: str
    rooms: Rooms


class _Reviewed(NamedTuple):
    """The file of a cluster as it still counts, what that takes, and how long it stays so.

    `as_filed` says that all of it still counts.
    """

    ledger: ClusterLedger
    total: Resources
    stays: UnchangedUntil
    as_filed: bool


@dataclass(slots=True, eq=False)
class LedgerMemory:
    """What is remembered of ledgers between rounds; it only saves work.

    Attributes:
        rooms: By API what is left in its clusters.
        reported: By API and cluster what is left there.
        files: Cluster to what its file says.
        reviewed: Cluster to what of that still stands.
        copies: What clusters report of their copies.
        placed: What is placed on clusters.
    """

    rooms: AnswerCache[str, Rooms] = field(default_factory=AnswerCache)
    reported: AnswerCache[tuple[str, str], ReportedRoom | None] = field(default_factory=AnswerCache)
    files: AnswerCache[str, ClusterLedger] = field(default_factory=AnswerCache)
    reviewed: AnswerCache[str, _Reviewed] = field(default_factory=AnswerCache)
    copies: CopyTable = field(default_factory=CopyTable)
    placed: PlacedTotals = field(default_factory=PlacedTotals)
    _unseen: dict[tuple[str, str], Resources] = field(default_factory=dict)

    def unseen(self, ledger: Ledger, limits: Iterable[ClusterLimits]) -> Iterator[Resources]:
        """Yield what is placed and not reported, the same objects while none of it differs."""
        before, self._unseen = self._unseen, {}
        for api, rooms in limits:
            for cluster in sorted(rooms):
                found = ledger.unseen(api, cluster)
                if found:
                    known = before.get((api, cluster))
                    self._unseen[api, cluster] = found if known != found else known
                    yield self._unseen[api, cluster]

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        for table in (self.rooms, self.reported, self.files, self.reviewed):
            table.forget()


@dataclass(slots=True, kw_only=True, eq=False)
class LedgerRound:
    """The ledger of one round, and what is to be written of it.

    Attributes:
        ledger: As it goes on.
        world: As the round found it.
        bound: How long a reservation stands without a report.
        limits: What APIs say is left.
        opened: The clusters of whose file not all counts any more.
        until: When time alone ends a reservation that the round found, `None` if never.
        memory: Of earlier rounds.
    """

    ledger: Ledger
    world: World
    bound: timedelta
    limits: Sequence[ClusterLimits]
    opened: AbstractSet[str]
    until: datetime | None
    memory: LedgerMemory

    def outputs(self) -> dict[ObjectKey, Body]:
        """Return the files that the round leaves otherwise than it found them."""
        ledger = self.ledger
        found: dict[ObjectKey, Body] = {}
        alike = EncodedReservations()
        for name in sorted(self.opened | ledger.touched):
            held = ledger.held.get(name)
            if held:
                left = ClusterLedger(capacity=_digests(self.limits, name), held=held)
                body = found[ledger_key(name)] = encode_ledger(name, left, alike)
                self.memory.files.keep(name, (body,), left)  # the next round need not read it
        return found

    def gone(self) -> frozenset[ObjectKey]:
        """Return the files of clusters of which nothing is reserved any more."""
        names = (one.key.name for one in self.world.outputs_of_kind(LEDGER))
        return frozenset(ledger_key(name) for name in names if not self.ledger.held.get(name))

    def ends(self) -> datetime | None:
        """Return when time alone ends a reservation, `None` if never."""
        added = add(self.ledger.now, self.bound) if self.ledger.touched else None
        return earliest(self.until, added)


def open_ledger(
    world: World,
    settings: Settings,
    now: datetime,
    memory: LedgerMemory,
    dialects: Sequence[Dialect],
) -> LedgerRound | None:
    """Begin a round, `None` where no room is protected.

    Args:
        world: As it is by now.
        settings: Of the repository.
        now: Moment of the pass.
        memory: Of earlier rounds.
        dialects: The APIs that there are.
    """
    protection = decode_protection(settings)
    if not protection.on:
        return None
    limits = tuple(_limits(world, memory, dialects))
    copies = memory.copies.follow(world)
    opened = {
        one.key.name: _reviewed(one, limits, copies, now, protection.bound, memory)
        for one in world.outputs_of_kind(LEDGER)
    }
    standing = {name: one for name, one in opened.items() if one.ledger.held}
    limited = frozenset().union(*(one.rooms for one in limits))
    placed = memory.placed.follow(world, dialects)
    ledger = Ledger(
        now=now,
        limited=limited,
        held={name: one.ledger.held for name, one in standing.items()},
        totals={name: one.total for name, one in standing.items()},
        used={one.name: {name: room.used for name, room in one.rooms.items()} for one in limits},
        standing=ChainMap({}, placed.standing),
        placed={name: placed.totals[name] for name in placed.totals.keys() & limited},
        log=list(standing),
    )
    ledger.found = (
        *(one.ledger for one in standing.values()),
        *memory.unseen(ledger, limits),
    )
    return LedgerRound(
        ledger=ledger,
        world=world,
        bound=protection.bound,
        limits=limits,
        opened=frozenset(name for name, one in opened.items() if not one.as_filed),
        until=earliest(*(one.stays.until for one in standing.values())),
        memory=memory,
    )


def _limits(
    world: World, memory: LedgerMemory, dialects: Sequence[Dialect]
) -> Iterator[ClusterLimits]:
    """Yield what each API says is left in its clusters."""
    for dialect in dialects:
        rules = dialect.capacity()
        if rules is not None:
            clusters = world.of_kind(*dialect.cluster)
            draw = partial(_rooms, dialect.name, rules, clusters, memory)
            yield ClusterLimits(dialect.name, memory.rooms.recall(dialect.name, (clusters,), draw))


def _rooms(
    api: str, rules: CapacityRules, clusters: tuple[Manifest, ...], memory: LedgerMemory
) -> Rooms:
    rooms = {}
    for one in clusters:
        name = one.key.name
        draw = partial(_reported, rules, one.body)
        found = memory.reported.recall((api, name), (one.body,), draw)
        if found is not None:
            rooms[name] = found
    return rooms


def _reported(rules: CapacityRules, cluster: Body) -> ReportedRoom | None:
    """Return what a cluster says is left, nothing of one that cannot be read."""
    try:
        return rules.reported(cluster)
    except UserError:
        return None


def _digests(limits: Sequence[ClusterLimits], cluster: str) -> dict[str, str]:
    return {one.name: one.rooms[cluster].digest for one in limits if cluster in one.rooms}


def _reviewed(
    manifest: Manifest,
    limits: Sequence[ClusterLimits],
    copies: CopyReports,
    now: datetime,
    bound: timedelta,
    memory: LedgerMemory,
) -> _Reviewed:
    """Return what of a cluster's reservations still stands."""
    name, body = manifest.key.name, manifest.body
    drawn_from = (body, copies.plain, copies.carried, *(one.rooms.get(name) for one in limits))
    known = memory.reviewed.find(name, drawn_from)
    if known is not None and known.stays.holds(now):
        return known
    found = memory.files.recall(name, (body,), partial(_decoded, body))
    shows = partial(is_shown, copies, name)
    ledger = review(found, _digests(limits, name), shows, now, bound)
    until = earliest(*(add(one.since, bound) for one in ledger.held.values()))
    total, stays = total_of(ledger.held), UnchangedUntil(now, until)
    made = _Reviewed(ledger, total, stays, as_filed=ledger is found)
    # What changes is dated with this moment, so it is drawn again in the next pass.
    return memory.reviewed.keep(name, drawn_from, made) if made.as_filed else made


def _decoded(body: Body) -> ClusterLedger:
    """Return what a file says, nothing where a person made it unreadable."""
    try:
        return decode_ledger(body)
    except (UserError, ValueError):
        return ClusterLedger()
