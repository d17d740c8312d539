"""The fleet as a heat map: a cell a cluster by region and zone, or a zone where there are many."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.fleet.trouble import is_well
from reconciler.audit.fleet.usage import Usage
from reconciler.page.links import Anchor, Links
from reconciler.page.states import cluster_states

MOST_CELLS = 500  # clusters; of more each zone is a cell
LEVELS = 5
NOWHERE = "no region given"
MEASURED = ("cpu", "memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One cluster or one zone.

    Attributes:
        anchor: What stands in the cell, and where it leads.
        look: `use-0` to `use-5`; `ill` where something is wrong with it, `off` where it leaves.
        says: All of it in words.
    """

    anchor: Anchor
    look: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatZone:
    """The cells of one region and zone, with its name and what there is, in words."""

    title: str
    says: str
    cells: Sequence[HeatCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The map; `measure` says of what the cells are told."""

    zones: Sequence[HeatZone]
    measure: str
    by_zone: bool


def heat_map(usages: Iterable[Usage], links: Links, leaving: Mapping[str, int]) -> HeatMap:
    """Return the map.

    Args:
        usages: Every cluster with what is on it, in any order.
        links: Where views lead.
        leaving: How many objects are leaving each cluster.
    """
    ordered = sorted(usages, key=lambda one: (one.region, one.zone, one.key.name, one.key.kind))
    grouped: dict[tuple[str, str], list[Usage]] = defaultdict(list)
    for one in ordered:
        grouped[one.region, one.zone].append(one)
    has_room = any(percent_of([one]) is not None for one in ordered)
    most = max((one.replicas for one in ordered), default=0)
    if len(ordered) <= MOST_CELLS:
        zones = [
            HeatZone(
                title=place_of(region, zone),
                says=_counted(found),
                cells=[_cell(one, links, leaving, most) for one in found],
            )
            for (region, zone), found in grouped.items()
        ]
    else:
        regions: dict[str, list[HeatCell]] = defaultdict(list)
        for (region, zone), found in grouped.items():
            regions[region].append(_zone_cell(region, zone, found, links, most))
        zones = [
            HeatZone(title=region or NOWHERE, says="", cells=cells)
            for region, cells in regions.items()
        ]
    measure = "percent of cpu or memory taken, the greater" if has_room else "replicas"
    return HeatMap(zones=zones, measure=measure, by_zone=len(ordered) > MOST_CELLS)


def percent_of(usages: Iterable[Usage]) -> int | None:
    """Return the greater part of cpu and memory that is taken, `None` where it is not known."""
    found = list(usages)
    percents = []
    for name in MEASURED:
        known = [one for one in found if (one.capacity or {}).get(name)]
        capacity = sum((one.capacity or {})[name] for one in known)
        if capacity:
            percents.append(round(100 * sum(one.used.get(name, 0) for one in known) / capacity))
    return max(percents, default=None)


def level_of(percent: int) -> int:
    """Return which step of colour a part has: 0 for none, 5 from 80 percent on.

    >>> [level_of(number) for number in (0, 1, 19, 20, 79, 80, 130)]
    [0, 1, 1, 2, 4, 5, 5]
    """
    return 0 if percent <= 0 else min(LEVELS, 1 + percent // 20)


def _cell(usage: Usage, links: Links, leaving: Mapping[str, int], most: int) -> HeatCell:
    """Return the cell of one cluster."""
    percent, name = percent_of([usage]), usage.key.name
    text = str(usage.replicas) if percent is None else str(percent)
    part = percent if percent is not None else round(100 * usage.replicas / most) if most else 0
    look = f"use-{level_of(part)}"
    if usage.over or not is_well(usage):
        look = "off" if usage.leaving else "ill"
    told = [one.word for one in cluster_states(usage)]
    told += [] if percent is None else [f"{percent} % taken"]
    told += [f"{usage.objects} objects", f"{usage.replicas} replicas"]
    told += [f"{leaving[name]} leave it"] if leaving.get(name) else []
    told += [f"{len(usage.taints)} taints"] if usage.taints else []
    mark = "!" if look == "ill" else "-" if leaving.get(name) else ""
    return HeatCell(
        anchor=Anchor(f"{mark}{text}", links.cluster(usage.key)),
        look=look,
        says=f"{name}: {', '.join(told)}",
    )


def _zone_cell(region: str, zone: str, found: Sequence[Usage], links: Links, most: int) -> HeatCell:
    """Return the cell of one zone."""
    percent = percent_of(found)
    replicas = sum(one.replicas for one in found)
    part = percent
    if part is None:
        part = round(100 * replicas / (most * len(found))) if most else 0
    unwell = sum(not is_well(one) or bool(one.over) for one in found)
    text = str(replicas) if percent is None else str(percent)
    name = place_of(region, zone)
    return HeatCell(
        anchor=Anchor(
            f"{zone or name} {text}" + (f" !{unwell}" if unwell else ""),
            links.view("clusters", region=region, zone=zone),
        ),
        look="ill" if unwell else f"use-{level_of(part)}",
        says=f"{name}: {_counted(found)}",
    )


def _counted(found: Sequence[Usage]) -> str:
    """Return what there is in a zone, in words."""
    percent = percent_of(found)
    unwell = sum(not is_well(one) for one in found)
    parts = [f"{len(found)} cluster{'s' if len(found) != 1 else ''}"]
    parts += [f"{unwell} not ready"] if unwell else []
    parts += [] if percent is None else [f"{percent} % taken"]
    parts.append(f"{sum(one.replicas for one in found)} replicas")
    return ", ".join(parts)


def place_of(region: str, zone: str) -> str:
    """Return a region and a zone; a zone mostly begins with its region.

    >>> place_of("eu", "eu-a"), place_of("eu", "a"), place_of("", "")
    ('eu-a', 'eu a', 'no region given')
    """
    if not region and not zone:
        return NOWHERE
    return zone if region and zone.startswith(region) else " ".join(filter(None, (region, zone)))
