"""What each cluster has, what is placed on it, and what is free, in a world."""

from dataclasses import dataclass, field

from reconciler.audit.fleet.cluster_health import with_taints
from reconciler.audit.fleet.fleet_loads import FleetLoads
from reconciler.core.dialects import DIALECTS
from reconciler.core.ledger.ledger_file import ledger_key, reserved_in
from reconciler.dialects.view import View
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources, less
from reconciler.model.settings import CONFIGURATION, settings_in
from reconciler.model.world import World

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


def usage_of(
    world: World,
    loads: FleetLoads | None = None,
    kept: AnswerCache[ObjectKey, Usage] | None = None,
) -> list[Usage]:
    """Return every cluster with what is on it, sorted by name, then kind.

    Args:
        world: Whose clusters.
        loads: What is placed on them, `None` where that was not asked yet.
        kept: Answers of the question before, about the world that the loads were followed from;
            they only save work.
    """
    loads = FleetLoads(world) if loads is None else loads
    kept = AnswerCache() if kept is None else kept
    views = {dialect.cluster: dialect.view() for dialect in DIALECTS}
    settings = settings_in(world)
    written = next(iter(world.of_kind(*CONFIGURATION)), None)
    found = []
    for cluster in (one for kind in views for one in world.written_of_kind(*kind)):
        key, record = cluster.key, world.outputs.get(cluster.key)
        ledger = world.outputs.get(ledger_key(key.name))
        drawn_from = (
            cluster.body,
            record and record.body,
            written and written.body,
            loads.on(key.name).counted,
            ledger and ledger.body,
        )
        usage = kept.find(key, drawn_from)
        if usage is None:
            tainted = with_taints(world, settings, key[:2], cluster.body)
            reserved = {} if ledger is None else reserved_in(ledger.body)
            usage = _usage(key, cluster.body, loads, views[key.group, key.kind], tainted, reserved)
        found.append(kept.keep(key, drawn_from, usage))
    kept.forget()
    return sorted(found, key=lambda one: (one.key.name, one.key.kind))


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
    report, place = view.report_of(status), view.place_of(body)
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
