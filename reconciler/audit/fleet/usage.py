"""What each cluster of a world has, what is placed on it, and what is free.

The loads are followed from one world to the next, so a step costs what moved. Clusters that several
APIs declare under one name are one cluster, whose room counts once. Clusters are shown as
scheduling sees them: with their taints, and with which of them are down. Numbers of clusters become
scores between -100 and 100, so that a Placement can weigh them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Self

from reconciler.audit.fleet.placed_objects import DecidedObjects, PlacedObjects, changed_owners
from reconciler.audit.history.moves import ObjectMoves, differences
from reconciler.core.dialects import CLUSTERS, DIALECTS, dialect_of
from reconciler.core.inputs.world import clusters_in
from reconciler.core.ledger_file import ledger_key, reserved_in
from reconciler.dialects.view import LEAST, MOST, View
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.quantity import (
    NANOS,
    Quantity,
    Resources,
    ceil_units,
    less,
)
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache
from reconciler.model.settings import CONFIGURATION, Settings, settings_in
from reconciler.model.world import World

Asked = tuple[tuple[str, Quantity], ...]
"""What one replica asks for."""


@dataclass(slots=True)
class ClusterLoad:
    """What is placed on one cluster: objects and replicas, by what a replica asks for.

    `counted` is another object whenever something was counted on it.
    """

    shares: dict[int, list[int]] = field(default_factory=dict)
    counted: object = field(default_factory=object)

    @property
    def objects(self) -> int:
        """How many bindings and placements are on it."""
        return sum(objects for objects, _ in self.shares.values())

    @property
    def replicas(self) -> int:
        """How many replicas they have there."""
        return sum(replicas for _, replicas in self.shares.values())


NOTHING = ClusterLoad()


class FleetLoads:
    """What is placed on each cluster of a world.

    Attributes:
        world: That was followed to last.
        placements: Where everything is in it.
        decided: What the decisions in it are about, read when it is asked for.
        objects: How many bindings and placements are somewhere.
        moved: What is elsewhere than in the world that was followed before it.
    """

    def __init__(self, world: World) -> None:
        """Read everything."""
        self.world = world
        self.placements = PlacedObjects(world)
        self.decided = DecidedObjects(world)
        self.objects = 0
        self.moved: tuple[ObjectMoves, ...] = ()
        self._loads: dict[str, ClusterLoad] = {}
        self._numbers: dict[Asked, int] = {}  # many ask the same
        self._asked: list[Asked] = []
        for key in self.placements:
            self._count(key, 1)

    def follow(self, world: World) -> Self:
        """Go on to another world."""
        changed = changed_owners(world, self.world)
        for key in changed:
            self._count(key, -1)
        before = {key: self.placements.get(key, ()) for key in changed}
        self.placements, self.world = self.placements.followed(world, changed), world
        self.decided = self.decided.followed(world, changed)
        for key in changed:
            self._count(key, 1)
        after = {key: self.placements.get(key, ()) for key in changed}
        self.moved = differences(before, after)
        return self

    def on(self, cluster: str) -> ClusterLoad:
        """Return what is placed on a cluster."""
        return self._loads.get(cluster, NOTHING)

    def requested_by(self, load: ClusterLoad) -> Resources:
        """Return what the replicas of a load ask for, sorted by resource."""
        total: Counter[str] = Counter()
        for number, (_, replicas) in load.shares.items():
            total.update({item: amount * replicas for item, amount in self._asked[number]})
        return {name: Quantity(amount) for name, amount in sorted(total.items())}

    def _count(self, key: ObjectKey, sign: int) -> None:
        """Count an object where it is, or no longer."""
        placed = self.placements.get(key, ())
        output, dialect = self.world.outputs.get(key), dialect_of(key.group)
        self.objects += sign * bool(placed)
        if not placed or output is None or dialect is None:
            return
        number = self._number(tuple(dialect.view().outputs.requested_by(output.body).items()))
        for name, replicas in placed:
            load = self._loads.get(name) or self._loads.setdefault(name, ClusterLoad())
            share = load.shares.get(number) or load.shares.setdefault(number, [0, 0])
            load.counted = object()
            share[0] += sign
            share[1] += sign * replicas
            if not share[0]:
                del load.shares[number]  # as if it had never been there

    def _number(self, asked: Asked) -> int:
        if asked not in self._numbers:
            self._numbers[asked] = len(self._asked)
            self._asked.append(asked)
        return self._numbers[asked]


DECLARED = "Declared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One cluster.

    Attributes:
        key: Of its manifest.
        ready: `True`, `False` or `Unknown` as reported, `Declared` of one without a status.
        objects: How many bindings and placements are on it.
        replicas: How many replicas they have there.
        capacity: What it can give away, `None` where it does not say.
        requested: What the replicas placed on it ask for.
        used: What is taken of it: what is requested or what it reports as taken, the greater.
        free: What is left of the capacity, never below 0; what it reports where it tells no
            capacity, `None` where nothing is known.
        reserved: What was decided and no report of the cluster can contain yet, nothing unless room
            is protected; it is used.
        over: What is taken beyond the capacity, only what is above 0: where the capacity is known,
            used and free are together the capacity and over.
        taints: As `key=value:effect`, in file order, then those that follow from its status.
        leaving: Whether it is being deleted.
        region: Where it stands, `""` where it does not say.
        zone: The same, more closely.
        also: The manifests of other APIs that declare the same cluster, where they are told as one.
    """

    key: ObjectKey
    ready: str
    objects: int
    replicas: int
    capacity: Resources | None
    requested: Resources
    used: Resources
    free: Resources | None
    over: Resources
    taints: tuple[str, ...]
    leaving: bool
    region: str = ""
    zone: str = ""
    also: tuple[ObjectKey, ...] = ()
    reserved: Resources = field(default_factory=dict)

    @property
    def over_text(self) -> str:
        """How much is placed on it of how much it has, where that is more."""
        whole = self.capacity or {}
        return ", ".join(
            f"{name} {part_text(name, self.used[name], whole[name])}" for name in self.over
        )


def usage_of(
    world: World,
    loads: FleetLoads | None = None,
    cache: AnswerCache[ObjectKey, Usage] | None = None,
) -> list[Usage]:
    """Return every cluster with what is on it, sorted by name, then kind.

    Args:
        world: Whose clusters.
        loads: What is placed on them, `None` where that was not asked yet.
        cache: Answers of the question before, about the world that the loads were followed from;
            they only save work.
    """
    loads = FleetLoads(world) if loads is None else loads
    cache = AnswerCache() if cache is None else cache
    views = {dialect.cluster: dialect.view() for dialect in DIALECTS}
    settings = settings_in(world)
    written = next(iter(world.of_kind(*CONFIGURATION)), None)
    usages = []
    for written_as, cluster in clusters_in(world):
        key, record = written_as.key, world.outputs.get(cluster.key)
        ledger = world.outputs.get(ledger_key(key.name))
        drawn_from = (
            cluster.body,
            record and record.body,
            written and written.body,
            loads.on(key.name).counted,
            ledger and ledger.body,
        )
        usage = cache.find(key, drawn_from)
        if usage is None:
            kind = cluster.key[:2]
            tainted = with_taints(world, settings, kind, cluster.body)
            reserved = {} if ledger is None else reserved_in(ledger.body)
            usage = _usage(key, cluster.body, loads, views[kind], tainted, reserved)
        usages.append(cache.keep(key, drawn_from, usage))
    cache.forget()
    return sorted(usages, key=lambda one: (one.key.name, one.key.kind))


def _usage(
    key: ObjectKey,
    body: Body,
    loads: FleetLoads,
    view: View,
    tainted: Body,
    reserved: Resources,
) -> Usage:
    """Return one cluster with what is on it; `tainted` is it with all taints."""
    load = loads.on(key.name)
    taints = bodies(mapping(tainted, "spec"), "taints")
    status = mapping(body, "status")
    report, place = view.clusters.report_of(status), view.clusters.place_of(body)
    requested = loads.requested_by(load)
    capacity, reported = report.capacity or {}, report.free or {}
    used = _used(requested, capacity, reported, reserved)
    free = {**less(reported, reserved), **less(capacity, used)}
    return Usage(
        key=key,
        ready=report.ready if status else DECLARED,
        objects=load.objects,
        replicas=load.replicas,
        capacity=report.capacity,
        requested=requested,
        used=used,
        reserved=reserved,
        free=None if report.capacity is None and report.free is None else free,
        over={
            name: beyond
            for name, beyond in less(used, capacity).items()
            if beyond and name in capacity
        },
        taints=tuple(map(_taint, taints)),
        leaving=bool(mapping(body, "metadata").get("deletionTimestamp")),
        region=place.region,
        zone=place.zone,
    )


def _used(
    requested: Resources, capacity: Resources, free: Resources, reserved: Resources
) -> Resources:
    """Return what is taken: a report may know of more than is placed, or not yet of all of it."""
    taken = less({name: capacity[name] for name in capacity if name in free}, free)
    taken = {name: Quantity(taken[name] + reserved.get(name, 0)) for name in taken}
    return {
        name: max(requested.get(name, Quantity(0)), taken.get(name, Quantity(0)))
        for name in sorted({*requested, *taken})
    }


def _taint(taint: Body) -> str:
    """Return a taint as kubectl writes it."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{f'={value}' if value else ''}:{text(taint, 'effect')}"


def by_name(usages: Iterable[Usage]) -> list[Usage]:
    """Return one usage for each name, in the order of the first of each."""
    usages_by_name: dict[str, list[Usage]] = defaultdict(list)
    for usage in usages:
        usages_by_name[usage.key.name].append(usage)
    return [_joined(sorted(same, key=_order)) for same in usages_by_name.values()]


def _order(usage: Usage) -> int:
    """Return the order in which a pass asks the APIs."""
    return CLUSTERS.index(usage.key[:2])


def _joined(same: Sequence[Usage]) -> Usage:
    """Return what is to be said of one cluster; the first that tells its capacity is believed.

    What is placed there is counted by name already, whichever API has placed it.
    """
    first, *others = same
    if not others:
        return first
    reporting = next((one for one in same if one.capacity is not None), first)
    used: dict[str, Quantity] = {}
    for usage in same:
        used |= {name: max(taken, used.get(name, taken)) for name, taken in usage.used.items()}
    return replace(
        first,
        ready=",".join(dict.fromkeys(one.ready for one in same)),
        capacity=reporting.capacity,
        used=used,
        free=reporting.free
        if reporting.capacity is None
        else {**(reporting.free or {}), **less(reporting.capacity, used)},
        over=_beyond(reporting.capacity or {}, used),
        taints=tuple(dict.fromkeys(taint for one in same for taint in one.taints)),
        leaving=any(one.leaving for one in same),
        region=next(filter(None, (one.region for one in same)), ""),
        zone=next(filter(None, (one.zone for one in same)), ""),
        also=tuple(one.key for one in others),
    )


def _beyond(capacity: Resources, used: Resources) -> Resources:
    over = less(used, capacity).items()
    return {name: beyond for name, beyond in over if beyond and name in capacity}


FOREMOST = CPU, MEMORY = "cpu", "memory"
"""The resources that are told first."""
BYTES = (MEMORY, "storage", "ephemeral-storage")
BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def amount_text(name: str, amount: Quantity) -> str:
    """Return an amount of a resource as people say it.

    >>> [amount_text("cpu", Quantity(number * 10**6)) for number in (205_750, 1_500, 1_000, 250)]
    ['206 cores', '1.5 cores', '1 core', '0.25 cores']
    >>> amount_text("memory", Quantity(89_344 * 2**20 * 10**9))
    '87.2 GiB'
    """
    if name == CPU:
        cores = _rounded_text(amount / NANOS)
        return f"{cores} core{'' if cores == '1' else 's'}"
    if name not in BYTES:
        return str(ceil_units(amount))
    size, unit = amount / NANOS, 0
    while size >= 1024 and unit < len(BINARY_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{_rounded_text(size)} {BINARY_UNITS[unit]}"


def part_text(name: str, part: Quantity, whole: Quantity) -> str:
    """Return how much of a resource is taken of how much there is.

    >>> part_text("cpu", Quantity(5 * 10**9), Quantity(2 * 10**9))
    '5 of 2 cores'
    >>> part_text("memory", Quantity(0), Quantity(2**40 * 10**9))
    '0 of 1 TiB'
    """
    taken = amount_text(name, part)
    if name == CPU or not part:
        taken = _rounded_text(part / NANOS)
    return f"{taken} of {amount_text(name, whole)}"


def _rounded_text(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


Down = Mapping[ClusterName, str]
"""Clusters that are unwell, with what is wrong."""


def with_taints(world: World, settings: Settings, kind: Kind, body: Body) -> Body:
    """Return an object to be shown; a cluster with all taints that scheduling uses.

    Args:
        world: That has it.
        settings: Of the repository.
        kind: Its group and kind.
        body: As people wrote it.
    """
    dialect = dialect_of(kind[0])
    if dialect is None or dialect.cluster != kind:
        return body
    key = ObjectKey(*kind, "", text(mapping(body, "metadata"), "name"))
    record = world.outputs.get(key)
    taints = dialect.view().clusters.taints_of(
        body, settings, None if record is None else record.body
    )
    return {**body, "spec": {**mapping(body, "spec"), "taints": list(taints)}}


def clusters_down(world: World, groups: Iterable[str]) -> Mapping[str, Down]:
    """Return the clusters that say that they are unwell, each with what is wrong, by group.

    Args:
        world: Whose clusters.
        groups: API groups of what was decided; one without an API of ours has no clusters.
    """
    return {group: _down(world, group) for group in sorted(set(groups))}


def _down(world: World, group: str) -> Down:
    """Return the clusters of one API that are unwell."""
    dialect = dialect_of(group)
    if dialect is None:
        return {}
    view = dialect.view()
    reports = {
        ClusterName(cluster.key.name): view.clusters.report_of(mapping(cluster.body, "status")).down
        for cluster in world.of_kind(*dialect.cluster)
    }
    return {name: down for name, down in reports.items() if down}


def scaled(numbers: Mapping[str, Fraction], *, lower_is_better: bool = False) -> Mapping[str, int]:
    """Return numbers as scores: the best gets 100, the worst -100, those between in proportion.

    Halves are rounded away from zero. Where all are equal each gets 0.

    >>> scaled({"a": Fraction(1), "b": Fraction(2), "c": Fraction(5)}, lower_is_better=True)
    {'a': 100, 'b': 50, 'c': -100}
    """
    least, most = min(numbers.values(), default=0), max(numbers.values(), default=0)
    if least == most:
        return dict.fromkeys(numbers, 0)
    sign = -1 if lower_is_better else 1
    span = Fraction(most - least, MOST - LEAST)
    middle = Fraction(most + least, 2)
    return {name: _rounded(sign * (number - middle) / span) for name, number in numbers.items()}


def as_they_are(numbers: Mapping[str, Fraction]) -> Mapping[str, int] | str:
    """Return numbers that are scores already, or the first name whose number is none."""
    for name, number in numbers.items():
        if number.denominator != 1 or not LEAST <= number <= MOST:
            return name
    return {name: int(number) for name, number in numbers.items()}


def free_shares(usages: Iterable[Usage], resource: str) -> Mapping[ObjectKey, int]:
    """Return how much of a resource clusters have left: 100 is all of it, -100 is nothing.

    Clusters that do not tell their capacity have no share.
    """
    shares = {}
    for usage in usages:
        capacity = None if usage.capacity is None else usage.capacity.get(resource)
        free = None if usage.free is None else usage.free.get(resource)
        if capacity and free is not None:
            share = min(Fraction(free, capacity), Fraction(1))
            shares[usage.key] = _rounded(LEAST + (MOST - LEAST) * share)
    return shares


def _rounded(number: Fraction) -> int:
    """Return the nearest whole number, halves away from zero."""
    whole = int(abs(number) + Fraction(1, 2))
    return whole if number >= 0 else -whole
