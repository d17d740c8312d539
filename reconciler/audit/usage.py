"""What each cluster has, what is placed on it, and what is free, in a world."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.audit.kinds import CLUSTERS, KARMADA, KUBEFLEET, OCM, PLACED
from reconciler.audit.placed import placed_on
from reconciler.dialects.karmada.api.clusters import Resources, decode_resources
from reconciler.errors import UserError
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity
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
        taints: As `key=value:effect`, in file order.
        leaving: Whether it is being deleted.
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


@dataclass(slots=True)
class _Load:
    """What is placed on one cluster."""

    objects: int = 0
    replicas: int = 0
    requested: Counter[str] = field(default_factory=Counter)


def usage_of(world: World) -> list[Usage]:
    """Return every cluster with what is on it, sorted by name, then kind."""
    loads = _loads(world)
    keys = [key for key in world.inputs if (key.group, key.kind) in CLUSTERS]
    return [
        _usage(key, world.inputs[key].body, loads.get(key.name, _Load()))
        for key in sorted(keys, key=lambda key: (key.name, key.kind))
    ]


def _loads(world: World) -> dict[str, _Load]:
    """Return what is placed, by name of the cluster."""
    loads: dict[str, _Load] = {}
    for key in sorted(world.outputs):
        if (key.group, key.kind) not in PLACED:
            continue
        request = _request(world.outputs[key].body)
        for name, replicas in placed_on(world, key):
            load = loads.setdefault(name, _Load())
            load.objects += 1
            load.replicas += replicas
            load.requested.update({item: amount * replicas for item, amount in request.items()})
    return loads


def _request(binding: Body) -> Resources:
    """Return what one replica asks for."""
    needs = mapping(mapping(binding, "spec"), "replicaRequirements")
    return _resources(mapping(needs, "resourceRequest")) or {}


def _resources(body: Body) -> Resources | None:
    """Return amounts, `None` where there are none, or none that can be read."""
    try:
        return decode_resources(body) or None
    except UserError:
        return None


def _usage(key: ObjectKey, body: Body, load: _Load) -> Usage:
    """Return one cluster with what is on it."""
    status, kind = mapping(body, "status"), (key.group, key.kind)
    capacity, free = _reported(kind, status)
    requested = {name: Quantity(amount) for name, amount in sorted(load.requested.items())}
    if free is None and capacity is not None:
        free = _less(capacity, requested)
    return Usage(
        key=key,
        ready=_ready(kind, status),
        objects=load.objects,
        replicas=load.replicas,
        capacity=capacity,
        requested=requested,
        free=free,
        taints=tuple(map(_taint, bodies(mapping(body, "spec"), "taints"))),
        leaving=bool(mapping(body, "metadata").get("deletionTimestamp")),
    )


def _reported(kind: tuple[str, str], status: Body) -> tuple[Resources | None, Resources | None]:
    """Return capacity and what is free, as far as a cluster reports them.

    Source: karmada@f8fdd02 pkg/estimator/client/general.go takes allocated and allocating off
    allocatable; kubefleet@e160c1c reports `available`; ocm@00f84c3 reports no use.
    """
    if kind == KARMADA:
        summary = mapping(status, "resourceSummary")
        capacity = _resources(mapping(summary, "allocatable"))
        used = [_resources(mapping(summary, name)) for name in ("allocated", "allocating")]
        if capacity is None or used == [None, None]:
            return capacity, None
        return capacity, _less(_less(capacity, used[0] or {}), used[1] or {})
    if kind == KUBEFLEET:
        report = mapping(status, "resourceUsage")
        capacity = _resources(mapping(report, "allocatable"))
        return capacity, _resources(mapping(report, "available"))
    return _resources(mapping(status, "allocatable")), None


def _less(capacity: Resources, used: Resources) -> dict[str, Quantity]:
    """Return what is left, 0 at least."""
    return {name: Quantity(max(0, amount - used.get(name, 0))) for name, amount in capacity.items()}


READY: Mapping[tuple[str, str], str] = {KARMADA: "Ready", OCM: "ManagedClusterConditionAvailable"}


def _ready(kind: tuple[str, str], status: Body) -> str:
    """Return what a cluster reports of itself; a member agent's health stands for KubeFleet's."""
    if not status:
        return DECLARED
    wanted, conditions = READY.get(kind, "Healthy"), bodies(status, "conditions")
    if kind == KUBEFLEET:
        conditions = tuple(
            condition
            for agent in bodies(status, "agentStatus")
            if text(agent, "type") == "MemberAgent"
            for condition in bodies(agent, "conditions")
        )
    found = (text(item, "status") for item in conditions if text(item, "type") == wanted)
    return next(found, "Unknown")


def _taint(taint: Body) -> str:
    """Return a taint as kubectl writes it."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{f'={value}' if value else ''}:{text(taint, 'effect')}"
