"""Clusters that several APIs declare under one name: one cluster, whose room counts once."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from reconciler.audit.fleet.usage import Usage
from reconciler.core.dialects import CLUSTERS
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources, less


def by_name(usages: Iterable[Usage]) -> list[Usage]:
    """Return one usage for each name, in the order of the first of each."""
    found: dict[str, list[Usage]] = defaultdict(list)
    for one in usages:
        found[one.key.name].append(one)
    return [_joined(sorted(same, key=_order)) for same in found.values()]


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
    told = next((one for one in same if one.capacity is not None), first)
    used: dict[str, Quantity] = {}
    for one in same:
        used |= {name: max(taken, used.get(name, taken)) for name, taken in one.used.items()}
    return replace(
        first,
        ready=",".join(dict.fromkeys(one.ready for one in same)),
        capacity=told.capacity,
        used=used,
        free=told.free if told.capacity is None else {**(told.free or {}), **_left(told, used)},
        over=_beyond(told.capacity or {}, used),
        taints=tuple(dict.fromkeys(taint for one in same for taint in one.taints)),
        leaving=any(one.leaving for one in same),
        region=next(filter(None, (one.region for one in same)), ""),
        zone=next(filter(None, (one.zone for one in same)), ""),
        also=tuple(one.key for one in others),
    )


def _left(told: Usage, used: Resources) -> Resources:
    return less(told.capacity or {}, used)


def _beyond(capacity: Resources, used: Resources) -> Resources:
    over = less(used, capacity).items()
    return {name: beyond for name, beyond in over if beyond and name in capacity}
