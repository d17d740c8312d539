"""What each cluster has, what is placed on it, and what is free, in a world."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.audit.placed import placements_in
from reconciler.core.dialects import DIALECTS
from reconciler.dialects.view import View
from reconciler.model.decision import Placed
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources, less
from reconciler.model.settings import Settings, settings_in
from reconciler.model.world import Body, World

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
        free: What is left as it reports, or else capacity less what is requested; `None` where
            nothing is known.
        taints: As `key=value:effect`, in file order, then those that follow from its status.
        leaving: Whether it is being deleted.
        region: Where it stands, `""` where it does not say.
        zone: The same, more closely.
    """

    key: ObjectKey
    ready: str
    objects: int
    replicas: int
    capacity: Resources | None
    requested: Resources
    free: Resources | None
    taints: tuple[str, ...]
    leaving: bool
    region: str = ""
    zone: str = ""


@dataclass(slots=True)
class _Load:
    """What is placed on one cluster."""

    objects: int = 0
    replicas: int = 0
    shares: Counter[int] = field(default_factory=Counter)
    requested: Counter[str] = field(default_factory=Counter)


def usage_of(world: World, placements: Mapping[ObjectKey, Placed] | None = None) -> list[Usage]:
    """Return every cluster with what is on it, sorted by name, then kind.

    Args:
        world: Whose clusters.
        placements: Where everything is, `None` where that was not asked yet.
    """
    loads = _loads(world, placements_in(world) if placements is None else placements)
    views = {dialect.cluster: dialect.view() for dialect in DIALECTS}
    settings = settings_in(world)
    keys = [key for key in world.inputs if (key.group, key.kind) in views]
    found = []
    for key in sorted(keys, key=lambda key: (key.name, key.kind)):
        load, view = loads.get(key.name, _Load()), views[key.group, key.kind]
        found.append(_usage(key, world.inputs[key].body, load, view, settings))
    return found


def _loads(world: World, placements: Mapping[ObjectKey, Placed]) -> dict[str, _Load]:
    """Return what is placed, by name of the cluster."""
    loads: dict[str, _Load] = {}
    requests: dict[tuple[tuple[str, Quantity], ...], int] = {}
    views = {kind: dialect.view() for dialect in DIALECTS for kind in dialect.placed}
    for key, placed in placements.items():
        if key not in world.outputs:
            continue
        request = views[key.group, key.kind].requested_by(world.outputs[key].body)
        asked = requests.setdefault(tuple(request.items()), len(requests))  # many ask the same
        for name, replicas in placed:
            load = loads.get(name) or loads.setdefault(name, _Load())
            load.objects += 1
            load.replicas += replicas
            load.shares[asked] += replicas
    listed = list(requests)
    for load in loads.values():
        for asked, replicas in load.shares.items():
            load.requested.update({item: amount * replicas for item, amount in listed[asked]})
    return loads


def _usage(key: ObjectKey, body: Body, load: _Load, view: View, settings: Settings) -> Usage:
    """Return one cluster with what is on it."""
    taints = view.taints_of(body, settings)
    status = mapping(body, "status")
    report, place = view.report_of(status), view.place_of(body)
    requested = {name: Quantity(amount) for name, amount in sorted(load.requested.items())}
    free = report.free
    if free is None and report.capacity is not None:
        free = less(report.capacity, requested)
    return Usage(
        key=key,
        ready=report.ready if status else DECLARED,
        objects=load.objects,
        replicas=load.replicas,
        capacity=report.capacity,
        requested=requested,
        free=free,
        taints=tuple(map(_taint, taints)),
        leaving=bool(mapping(body, "metadata").get("deletionTimestamp")),
        region=place.region,
        zone=place.zone,
    )


def _taint(taint: Body) -> str:
    """Return a taint as kubectl writes it."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{f'={value}' if value else ''}:{text(taint, 'effect')}"
