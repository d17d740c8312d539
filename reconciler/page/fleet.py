"""The fleet as a view: clusters by region and zone, how they are, what they have, what leaves."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.fleet.usage import DECLARED, Usage
from reconciler.audit.previews.foresight import Coming, of_cluster
from reconciler.model.moments import format_moment
from reconciler.model.quantity import canonical_binary, canonical_cpu
from reconciler.model.resources import Resources
from reconciler.page.links import Anchor, Links
from reconciler.page.pages import Page, page_of
from reconciler.page.timeline import PassStep

PAGE = 60
NOWHERE = "no region given"
WELL = ("True", DECLARED)
AMOUNTS = {"cpu": canonical_cpu, "memory": canonical_binary}


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of a resource is taken.

    `percent` is of the capacity, `None` where unknown, and more than 100 where it is over-committed
    by `over`, `""` if it is not.
    """

    resource: str
    used: str
    free: str
    over: str
    percent: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """One cluster; `coming` is what leaves it or comes to it first, and when, `""` if nothing."""

    usage: Usage
    anchor: Anchor
    well: bool
    amounts: Sequence[Amount]
    coming: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """The clusters of one region and zone, in numbers."""

    region: str
    zone: str
    clusters: int
    unwell: int
    tainted: int
    objects: int
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView:
    """The view.

    Attributes:
        regions: Clusters in numbers, sorted by region and zone.
        clusters: Those of this page, in the same order.
        unwell: How many do not report that they are ready.
        objects: How many bindings and placements there are, on however many clusters.
        replicas: How many replicas they have.
        faults: How many there are, and where they are told.
        steps: The newest passes.
        coming: What comes next, the first few; `None` where it is computed when it is asked for.
        asked: Where all that comes is told.
        timeline: Where all passes are told.
    """

    regions: Sequence[RegionRow]
    clusters: Page[ClusterRow]
    unwell: int
    objects: int
    replicas: int
    faults: tuple[int, Anchor]
    steps: Sequence[PassStep]
    coming: Sequence[Coming] | None
    asked: Anchor
    timeline: Anchor


def fleet_view(
    usages: Iterable[Usage],
    links: Links,
    *,
    objects: int,
    faults: int,
    steps: Sequence[PassStep],
    coming: Sequence[Coming] | None,
    page: int = 1,
    size: int = PAGE,
) -> FleetView:
    """Return the view.

    Args:
        usages: Every cluster with what is on it.
        links: Where views lead.
        objects: How many bindings and placements are somewhere.
        faults: How many faults there are.
        steps: The newest passes.
        coming: What comes, in the order of time; `None` where that is not computed.
        page: Which page of the clusters.
        size: How many clusters a page has.
    """
    ordered = sorted(usages, key=lambda one: (one.region, one.zone, one.key.name, one.key.kind))
    found = page_of(ordered, page, size, lambda number: links.view("fleet", page=number))
    rows = [_row(one, links, coming or ()) for one in found.items]
    return FleetView(
        regions=_regions(ordered),
        clusters=Page(
            items=rows,
            first=found.first,
            total=found.total,
            earlier=found.earlier,
            later=found.later,
        ),
        unwell=sum(not _is_well(one) for one in ordered),
        objects=objects,
        replicas=sum(one.replicas for one in ordered),
        faults=(faults, Anchor("faults", links.view("faults"))),
        steps=steps,
        coming=coming if coming is None else coming[:5],
        asked=Anchor("what comes next, and when", links.view("coming")),
        timeline=Anchor("all passes", links.view("timeline")),
    )


def _regions(usages: Iterable[Usage]) -> list[RegionRow]:
    """Return the numbers of each region and zone, sorted."""
    grouped: dict[tuple[str, str], list[Usage]] = defaultdict(list)
    for one in usages:
        grouped[one.region, one.zone].append(one)
    return [
        RegionRow(
            region=region or NOWHERE,
            zone=zone,
            clusters=len(found),
            unwell=sum(not _is_well(one) for one in found),
            tainted=sum(bool(one.taints) for one in found),
            objects=sum(one.objects for one in found),
            replicas=sum(one.replicas for one in found),
        )
        for (region, zone), found in sorted(grouped.items())
    ]


def _row(usage: Usage, links: Links, coming: Sequence[Coming]) -> ClusterRow:
    """Return one cluster."""
    first = of_cluster(coming, usage.key)
    return ClusterRow(
        usage=usage,
        anchor=Anchor(usage.key.name, links.view("matrix", cluster=usage.key.name)),
        well=_is_well(usage),
        amounts=[one for name in AMOUNTS for one in [_amount(usage, name)] if one is not None],
        coming="" if first is None else f"{first[1]} at {format_moment(first[0])}",
    )


def _is_well(usage: Usage) -> bool:
    return usage.ready in WELL and not usage.leaving


def _amount(usage: Usage, name: str) -> Amount | None:
    """Return how much of a resource is used, `None` where nothing is known of it."""
    used, capacity = usage.used.get(name), (usage.capacity or {}).get(name)
    if used is None and capacity is None:
        return None
    return Amount(
        resource=name,
        used=_shown(usage.used, name) or "0",
        free=_shown(usage.free or {}, name),
        over=_shown(usage.over, name),
        percent=None if not capacity else round(100 * (used or 0) / capacity),
    )


def _shown(resources: Resources | Mapping[str, float], name: str) -> str:
    """Return an amount as people write it, `""` where it is not known."""
    found = resources.get(name)
    return "" if found is None else AMOUNTS[name](found)  # type: ignore[arg-type]
