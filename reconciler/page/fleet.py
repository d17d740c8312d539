"""The fleet as a view: what is wrong, the clusters by region and zone, what moves, what comes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.fleet.trouble import is_well
from reconciler.audit.fleet.usage import Usage
from reconciler.audit.previews.foresight import Coming
from reconciler.page.heat_map import NOWHERE, HeatMap, heat_map, percent_of
from reconciler.page.links import Anchor, Links
from reconciler.page.pictures.bars import BarPicture
from reconciler.page.pictures.past import Past
from reconciler.page.timeline import PassStep
from reconciler.page.wrong import WrongView


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """The clusters of one region and zone, in numbers; `percent` of what there is is taken."""

    region: str
    zone: str
    anchor: Anchor
    clusters: int
    unwell: int
    tainted: int
    percent: int | None
    objects: int
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView:
    """The view.

    Attributes:
        wrong: What is wrong now.
        heat: The clusters as a heat map.
        regions: Clusters in numbers, sorted by region and zone.
        clusters: How many there are, and where they are listed.
        unwell: How many do not report that they are ready.
        objects: How many bindings and placements there are, on however many clusters, and where.
        replicas: How many replicas they have.
        moves: What moved, hour by hour.
        steps: The newest passes.
        coming: What comes next, the first few; `None` where it is computed when it is asked for.
        asked: Where all that comes is told.
        timeline: Where all passes are told.
    """

    wrong: WrongView
    heat: HeatMap
    regions: Sequence[RegionRow]
    clusters: tuple[int, Anchor]
    unwell: int
    objects: tuple[int, Anchor]
    replicas: int
    moves: BarPicture
    steps: Sequence[PassStep]
    coming: Sequence[Coming] | None
    asked: Anchor
    timeline: Anchor


def fleet_view(
    usages: Iterable[Usage],
    links: Links,
    *,
    wrong: WrongView,
    leaving: Mapping[str, int],
    objects: int,
    past: Past,
    steps: Sequence[PassStep],
    coming: Sequence[Coming] | None,
) -> FleetView:
    """Return the view.

    Args:
        usages: Every cluster with what is on it.
        links: Where views lead.
        wrong: What is wrong.
        leaving: How many objects are leaving each cluster.
        objects: How many bindings and placements are somewhere.
        past: What moved.
        steps: The newest passes.
        coming: What comes, in the order of time; `None` where that is not computed.
    """
    every = list(usages)
    return FleetView(
        wrong=wrong,
        heat=heat_map(every, links, leaving),
        regions=_regions(every, links),
        clusters=(len(every), Anchor("clusters", links.view("clusters"))),
        unwell=sum(not is_well(one) for one in every),
        objects=(objects, Anchor("objects placed", links.view("objects"))),
        replicas=sum(one.replicas for one in every),
        moves=past.by_hour(),
        steps=steps,
        coming=coming if coming is None else coming[:5],
        asked=Anchor("what comes next, and when", links.view("coming")),
        timeline=Anchor("all passes", links.view("timeline")),
    )


def _regions(usages: Iterable[Usage], links: Links) -> list[RegionRow]:
    """Return the numbers of each region and zone, sorted."""
    grouped: dict[tuple[str, str], list[Usage]] = defaultdict(list)
    for one in usages:
        grouped[one.region, one.zone].append(one)
    return [
        RegionRow(
            region=region or NOWHERE,
            zone=zone,
            anchor=Anchor(
                region or NOWHERE,
                links.view("clusters", region=region, zone=zone) if region or zone else "",
            ),
            clusters=len(found),
            unwell=sum(not is_well(one) for one in found),
            tainted=sum(bool(one.taints) for one in found),
            percent=percent_of(found),
            objects=sum(one.objects for one in found),
            replicas=sum(one.replicas for one in found),
        )
        for (region, zone), found in sorted(grouped.items())
    ]
