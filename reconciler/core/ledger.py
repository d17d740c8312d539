"""The ledger of a round: who takes room in clusters, in which order, and when a reservation ends.

It is opened from the files of clusters, and written back as the round leaves it. All APIs take room
of the same clusters, so their plans are asked in turns. Each API says which documents show what an
object has where (`CapacityRules`); what of them differs since the last round is counted anew, and
the rest stands. What an object gets depends on what others get wherever room is protected.

The capacity that a cluster reports contains what runs there. What was decided a moment ago does not
run yet, and the next report of capacity may be of the moment before. So a reservation stands until
the copies themselves are reported, and from then on until each API's capacity of the cluster is
seen otherwise than before: that report is of a moment at which the copies were there. A heartbeat
changes no capacity. Another pod does, but ends nothing before the copies are reported. Where no
report comes, a reservation ends once it has stood for the bound, whichever of the two it waits for.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from reconciler.core.dialects import DIALECTS
from reconciler.core.ledger_file import (
    LEDGER,
    ClusterLedger,
    EncodedReservations,
    decode_ledger,
    encode_ledger,
    ledger_key,
)
from reconciler.dialects.contract import CapacityRules, Dialect, Plan, Prepared
from reconciler.dialects.inventory import CopyReports, CopyTable
from reconciler.dialects.reads import Followed
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import at, count_of
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, earliest
from reconciler.model.quantity import Resources
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, UnchangedUntil
from reconciler.model.settings import Settings, settings_in
from reconciler.model.world import Manifest, World
from reconciler.schedule.capacity import (
    NOTHING_PLACED,
    CopyCount,
    Ledger,
    Order,
    Placed,
    ReportedRoom,
    Reservation,
    beyond,
    decode_protection,
    plus,
    protects,
    total_of,
)

Shows = Callable[[CopyCount], bool]
"""Returns whether a cluster reports so many replicas of a workload."""

RUNNING = ("replicas", "readyReplicas", "availableReplicas")
SCALED = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})


def review(
    found: ClusterLedger,
    digests: Mapping[str, str],
    shows: Shows,
    now: datetime,
    bound: timedelta,
) -> ClusterLedger:
    """Return the reservations that still stand, the very same value where all do as before.

    Args:
        found: As the last pass left them.
        digests: API to the digest of the capacity that it reports now.
        shows: Whether the cluster reports copies.
        now: Moment of the round.
        bound: How long a reservation stands at most without a report.
    """
    if not found.held:
        return found
    changed = {api for api in digests if found.capacity.get(api) != digests[api]}
    still = frozenset(digests) - changed
    held = {one.holder: one for one in _standing(found, digests, still, shows, now, bound)}
    if held == found.held and not changed and found.capacity.keys() == digests.keys():
        return found
    return ClusterLedger(capacity=digests, held=held)


def _standing(
    found: ClusterLedger,
    digests: Mapping[str, str],
    still: frozenset[str],
    shows: Shows,
    now: datetime,
    bound: timedelta,
) -> Iterator[Reservation]:
    """Yield the reservations that stand; `still` are the APIs whose capacity is as it was."""
    for share in found.held.values():
        awaits, since = share.awaits, share.since
        if awaits is None and all(map(shows, share.copies)):
            awaits, since = tuple(sorted(digests)), now
        if awaits is not None:
            awaits = tuple(api for api in awaits if api in still)
            if not awaits:
                continue
        if add(since, bound) > now:
            yield share if awaits == share.awaits else replace(share, awaits=awaits, since=since)


def is_shown(copies: CopyReports, cluster: str, copy: CopyCount) -> bool:
    """Return whether a cluster reports so many replicas of a workload, or that it has it at all.

    Of kinds that do not tell how many run, a report is enough.
    """
    report = copies.of(copy.key, cluster)
    if report is None or not report.applied:
        return False
    running = running_in(copy.key.kind, report.body)
    return running is None or running >= copy.replicas


def running_in(kind: str, body: Body) -> int | None:
    """Return how many replicas a report says there are, `None` where its kind does not tell."""
    status = at(body, "status")
    if kind == "Job":
        return count_of(status.get("active")) + count_of(status.get("succeeded"))
    if kind == "Pod":
        return int(status.get("phase") not in (None, "", "Pending"))
    if kind not in SCALED and not any(name in status for name in RUNNING):
        return None
    return max(count_of(status.get(name)) for name in RUNNING)


def plan_in_turn(
    prepared: Mapping[Dialect, Prepared],
    plan: Callable[[Prepared], Plan],
    ledger: Ledger | None,
) -> dict[Dialect, Plan]:
    """Return the plan of each API, in the order of the APIs.

    With a ledger an API is planned once its turn comes. One whose objects are of several priorities
    has those planned that come between them, before it goes on.

    Args:
        prepared: The APIs.
        plan: Plans one of them.
        ledger: What is reserved, `None` where nothing is.
    """
    if ledger is None:
        return {dialect: plan(part) for dialect, part in prepared.items()}
    rules = {dialect: dialect.capacity() for dialect in prepared}
    turns = {dialect: rule.turn for dialect, rule in rules.items() if rule is not None}
    begun: set[Dialect] = set()
    plans: dict[Dialect, Plan] = {}

    def begin(dialect: Dialect) -> None:
        begun.add(dialect)
        rule, part = rules[dialect], prepared[dialect]
        plans[dialect] = plan(part if rule is None else part.within(ledger))

    def before(order: Order) -> None:
        for dialect in sorted(turns.keys() - begun, key=turns.__getitem__):
            if dialect not in begun and turns[dialect] < order:
                begin(dialect)

    ledger.before = before
    for dialect in sorted(turns, key=turns.__getitem__):
        if dialect not in begun:
            begin(dialect)
    for dialect in prepared:
        if dialect not in begun:
            begin(dialect)
    return {dialect: plans[dialect] for dialect in prepared}


def shares_room(world: World) -> bool:
    """Return whether room is protected, and any cluster has a limit or something reserved.

    A cluster that reports no capacity has none, such as a declared one.
    """
    if not protects(settings_in(world)):
        return False
    return bool(world.outputs_of_kind(LEDGER)) or any(
        _is_limited(rules, one.body)
        for dialect in DIALECTS
        if (rules := dialect.capacity()) is not None
        for one in world.of_kind(*dialect.cluster)
    )


def _is_limited(rules: CapacityRules, cluster: Body) -> bool:
    """Return whether a cluster has a limit; of one that cannot be read nobody knows."""
    try:
        return rules.reported(cluster) is not None
    except UserError:
        return True


@dataclass(slots=True, eq=False)
class PlacedTotals:
    """What is placed by the world that was followed last; it only saves work.

    Attributes:
        standing: What each object has on its clusters.
        totals: Cluster to what all of them have there, where they have anything.
    """

    standing: dict[ObjectKey, Placed] = field(default_factory=dict)
    totals: dict[str, Resources] = field(default_factory=dict)
    _outputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)

    def follow(self, world: World, dialects: Sequence[Dialect]) -> "PlacedTotals":
        """Go on to another world; return the same table."""
        rules = {
            kind: capacity
            for dialect in dialects
            if (capacity := dialect.capacity()) is not None
            for kind in capacity.placing
        }
        holders: dict[ObjectKey, CapacityRules] = {}
        for followed, now in ((self._outputs, world.outputs), (self._inputs, world.inputs)):
            for _, before, after in followed.follow(now):
                for one in (before, after):
                    if one is not None and one.key[:2] in rules:
                        capacity = rules[one.key[:2]]
                        holders[capacity.holder(one)] = capacity
        for holder, capacity in holders.items():
            self._count(holder, _placed(capacity, world, holder))
        return self

    def _count(self, holder: ObjectKey, now: Placed) -> None:
        before = self.standing.pop(holder, NOTHING_PLACED)
        for cluster, demand in before.items():
            left = beyond(self.totals[cluster], demand.resources)
            if left:
                self.totals[cluster] = left
            else:
                del self.totals[cluster]
        for cluster, demand in now.items():
            if demand.resources:
                self.totals[cluster] = plus(self.totals.get(cluster, {}), demand.resources)
        kept = {cluster: demand for cluster, demand in now.items() if demand.resources}
        if kept:
            self.standing[holder] = kept


def _placed(rules: CapacityRules, world: World, holder: ObjectKey) -> Placed:
    """Return what an object has on its clusters, nothing where that cannot be read."""
    try:
        return rules.placed(world, holder)
    except UserError:
        return NOTHING_PLACED


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
                unseen_there = ledger.unseen(api, cluster)
                if unseen_there:
                    known = before.get((api, cluster))
                    self._unseen[api, cluster] = unseen_there if known != unseen_there else known
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
        bodies: dict[ObjectKey, Body] = {}
        alike = EncodedReservations()
        for name in sorted(self.opened | ledger.touched):
            held = ledger.held.get(name)
            if held:
                left = ClusterLedger(capacity=_digests(self.limits, name), held=held)
                body = bodies[ledger_key(name)] = encode_ledger(name, left, alike)
                self.memory.files.keep(name, (body,), left)  # the next round need not read it
        return bodies

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
    for cluster in clusters:
        name = cluster.key.name
        draw = partial(_reported, rules, cluster.body)
        room = memory.reported.recall((api, name), (cluster.body,), draw)
        if room is not None:
            rooms[name] = room
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
    decoded = memory.files.recall(name, (body,), partial(_decoded, body))
    shows = partial(is_shown, copies, name)
    ledger = review(decoded, _digests(limits, name), shows, now, bound)
    until = earliest(*(add(one.since, bound) for one in ledger.held.values()))
    total, stays = total_of(ledger.held), UnchangedUntil(now, until)
    made = _Reviewed(ledger, total, stays, as_filed=ledger is decoded)
    # What changes is dated with this moment, so it is drawn again in the next pass.
    return memory.reviewed.keep(name, drawn_from, made) if made.as_filed else made


def _decoded(body: Body) -> ClusterLedger:
    """Return what a file says, nothing where a person made it unreadable."""
    try:
        return decode_ledger(body)
    except (UserError, ValueError):
        return ClusterLedger()
