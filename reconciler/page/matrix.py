"""Where everything runs as a view: objects down, clusters across, replicas where they meet.

The heat map shows the fleet alone: a cell for each cluster by region and zone, or for each zone
where there are many.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.placed_objects import DecidedObjects
from reconciler.audit.fleet.trouble import is_well
from reconciler.audit.fleet.usage import Usage
from reconciler.audit.previews.wording import share
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import World
from reconciler.page.links import Anchor, Links
from reconciler.page.lists import (
    ObjectChoice,
    Page,
    called,
    chosen,
    cluster_states,
    namespaces_of,
    page_of,
)

ROWS, COLUMNS = 50, 24
BY_POLICY, BY_NAMESPACE = "policy", "namespace"
UNCLAIMED = "no policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixQuery:
    """What a person asks to see, under which titles, and which page of rows and columns."""

    choice: ObjectChoice = field(default_factory=ObjectChoice)
    group: str = BY_NAMESPACE
    page: int = 1
    across: int = 1


class MatrixCell(NamedTuple):
    """The part of an object on a cluster: in words, and how it looks; both `""` where it is not."""

    text: str
    look: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One object: how people call it, where it is told, and its part on each cluster shown.

    `elsewhere` is its part on clusters of other pages, `""` if it has none there.
    """

    anchor: Anchor
    namespace: str
    cells: tuple[MatrixCell, ...]
    clusters: int
    replicas: int
    elsewhere: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixView:
    """The view; all but `namespaces` is of one page of objects and one of clusters.

    Attributes:
        query: What is asked for.
        namespaces: That can be chosen.
        groups: Titles with their rows.
        rows: The objects.
        columns: The clusters, those of a region beside each other.
        regions: The regions of these clusters in order, each with how many stand beside each other;
            empty where no region is known.
        totals: The replicas of these objects on each of these clusters.
        total: Those in all.
        total_elsewhere: Those on clusters of other pages.
        form: Whether it can be asked for something else.
    """

    query: MatrixQuery
    namespaces: Sequence[str]
    groups: Sequence[tuple[str, Sequence[MatrixRow]]]
    rows: Page[ObjectKey]
    columns: Page[str]
    regions: Sequence[tuple[str, int]]
    totals: Sequence[int]
    total: int
    total_elsewhere: int
    form: bool = True

    @property
    def is_cut(self) -> bool:
        """Whether there are clusters on other pages."""
        return self.columns.total > len(self.columns.items)


def matrix_view(
    world: World,
    placements: Mapping[ObjectKey, Placed],
    query: MatrixQuery,
    links: Links,
    *,
    rows: int = ROWS,
    columns: int = COLUMNS,
    regions: Mapping[str, str] | None = None,
    decided: DecidedObjects | None = None,
) -> MatrixView:
    """Return the view.

    Args:
        world: That is asked about.
        placements: Where everything is in it.
        query: What is asked for.
        links: Where views lead.
        rows: How many objects a page has.
        columns: How many clusters a page has.
        regions: Cluster to its region, `None` where that is of no interest.
        decided: What decisions in the world are about, where somebody has read it before.

    Raises:
        UsageError: The selector is none.
    """
    about = decided or DecidedObjects(world)
    title = _titles(about, query.group)
    wanted = chosen(world, placements, query.choice, decided=about)
    keys = sorted(wanted, key=title)  # those of a title by key
    shown = page_of(keys, query.page, rows, lambda n: _link(links, replace(query, page=n)))
    there = {name for key in shown.items for name, _ in placements[key]}
    known = regions or {}
    names = sorted(there, key=lambda name: (known.get(name, ""), name))
    across = page_of(
        [str(name) for name in names],
        query.across,
        columns,
        lambda n: _link(links, replace(query, across=n)),
    )
    shares = [dict(placements[key]) for key in shown.items]
    most = max((count for share in shares for count in share.values()), default=0)
    totals = [sum(share.get(ClusterName(name), 0) for share in shares) for name in across.items]
    total = sum(count for share in shares for count in share.values())
    return MatrixView(
        query=query,
        namespaces=namespaces_of(placements),
        groups=[
            (name, [_row(world, key, placements[key], across.items, most, links) for key in group])
            for name, group in groupby(shown.items, key=title)
        ],
        rows=shown,
        columns=across,
        regions=_regions(across.items, known),
        totals=totals,
        total=total,
        total_elsewhere=total - sum(totals),
    )


def _link(links: Links, query: MatrixQuery) -> str:
    """Return where other pages of the same question are."""
    return links.view(
        "matrix",
        **query.choice.words,
        group=query.group,
        page=query.page,
        across=query.across,
    )


def _titles(decided: DecidedObjects, group: str) -> Callable[[ObjectKey], str]:
    """Return what says under which title an object stands."""
    if group != BY_POLICY:
        return lambda key: key.namespace or "no namespace"
    return lambda key: _policy(decided, key)


def _policy(decided: DecidedObjects, key: ObjectKey) -> str:
    """Return the policy that an object belongs to, as people call it."""
    policy = decided.of(key).policy
    return UNCLAIMED if policy is None else called(policy)


def _regions(columns: Sequence[str], known: Mapping[str, str]) -> Sequence[tuple[str, int]]:
    """Return the regions of clusters that stand beside each other."""
    regions = [
        (name, len(list(group))) for name, group in groupby(columns, lambda c: known.get(c, ""))
    ]
    return regions if any(name for name, _ in regions) else ()


def _row(
    world: World, key: ObjectKey, placed: Placed, columns: Sequence[str], most: int, links: Links
) -> MatrixRow:
    """Return one object; `most` is the greatest part that is shown."""
    there = {str(name): count for name, count in placed}
    away = [count for name, count in there.items() if name not in columns]
    return MatrixRow(
        anchor=Anchor(called(named(world, key)), links.object(key)),
        namespace=key.namespace,
        cells=tuple(_matrix_cell(there.get(name), most) for name in columns),
        clusters=len(placed),
        replicas=sum(there.values()),
        elsewhere=f"{sum(away) or ''} on {len(away)}".strip() if away else "",
    )


def _matrix_cell(count: int | None, most: int) -> MatrixCell:
    """Return the part of an object on a cluster."""
    if count is None:
        return MatrixCell("", "")
    return MatrixCell(share(count), f"use-{level_of(90 * count // most) if most and count else 1}")


MOST_CELLS = 500  # clusters; of more each zone is a cell
MOST_NAMED = 100  # clusters whose names stand in their cells
LEVELS = 5
PERCENTS = ("0", "1-19", "20-39", "40-59", "60-79", "80 and more")
UNKNOWN = "?"
NOWHERE = "no region given"
MEASURED = ("cpu", "memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One cluster or one zone.

    Attributes:
        name: Of the cluster, `""` where there are too many to be named.
        anchor: What stands in the cell, and where it leads.
        look: `use-0` to `use-5`; `ill` where something is wrong with it, `off` where it leaves.
        says: All of it in words.
    """

    anchor: Anchor
    look: str
    says: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatZone:
    """The cells of one region and zone, with its name, what there is, and where that is listed."""

    anchor: Anchor
    says: str
    cells: Sequence[HeatCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The map; `measure` says of what the cells are told, `legend` each colour with its range."""

    zones: Sequence[HeatZone]
    measure: str
    legend: Sequence[tuple[str, str]]
    by_zone: bool
    has_unknown: bool


def heat_map(usages: Iterable[Usage], links: Links, leaving: Mapping[str, int]) -> HeatMap:
    """Return the map.

    Args:
        usages: Every cluster with what is on it, in any order.
        links: Where views lead.
        leaving: How many objects are leaving each cluster.
    """
    ordered = sorted(
        usages, key=lambda usage: (usage.region, usage.zone, usage.key.name, usage.key.kind)
    )
    grouped: dict[tuple[str, str], list[Usage]] = defaultdict(list)
    for usage in ordered:
        grouped[usage.region, usage.zone].append(usage)
    by_zone, is_named = len(ordered) > MOST_CELLS, len(ordered) < MOST_NAMED
    has_room = any(percent_of([usage]) is not None for usage in ordered)
    counted = grouped.values() if by_zone else [[usage] for usage in ordered]
    most = max(
        (sum(usage.replicas for usage in usages_there) for usages_there in counted), default=0
    )
    scale = HeatScale(has_room=has_room, most=most)
    if by_zone:
        regions: dict[str, list[HeatCell]] = defaultdict(list)
        for (region, zone), usages_there in grouped.items():
            regions[region].append(_zone_cell(region, zone, usages_there, links, scale))
        zones = [
            HeatZone(anchor=_listed(region, "", links), says="", cells=cells)
            for region, cells in regions.items()
        ]
    else:
        zones = [
            HeatZone(
                anchor=_listed(region, zone, links),
                says=_counted(usages_there),
                cells=[
                    _heat_cell(usage, links, leaving, scale, is_named=is_named)
                    for usage in usages_there
                ],
            )
            for (region, zone), usages_there in grouped.items()
        ]
    return HeatMap(
        zones=zones,
        measure="percent of cpu or memory used, the greater" if has_room else "replicas",
        legend=scale.legend,
        by_zone=by_zone,
        has_unknown=has_room and any(percent_of(usages_there) is None for usages_there in counted),
    )


def _listed(region: str, zone: str, links: Links) -> Anchor:
    """Return the name of a place, and where its clusters are listed."""
    href = links.view("clusters", region=region, zone=zone) if region or zone else ""
    return Anchor(place_of(region, zone), href)


class HeatScale(NamedTuple):
    """What a colour stands for: percent where any cluster reports room, else replicas.

    `most` is how many replicas the fullest cell has.
    """

    has_room: bool
    most: int

    def cell(self, percent: int | None, replicas: int) -> tuple[str, str]:
        """Return the text and the look of a cell."""
        if not self.has_room:
            return str(replicas), f"use-{self._step(replicas)}"
        return (UNKNOWN, "use-0") if percent is None else (str(percent), f"use-{level_of(percent)}")

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """Each look with what it stands for."""
        if self.has_room:
            return [(f"use-{n}", text) for n, text in enumerate(PERCENTS)]
        ranges = [(0, 0)]
        for level in range(1, LEVELS + 1):
            low, high = (-(-self.most * n // LEVELS) for n in (level - 1, level))
            ranges.append((low + 1, high))
        return [
            (f"use-{level}", str(low) if low == high else f"{low}-{high}")
            for level, (low, high) in enumerate(ranges)
            if low <= high
        ]

    def _step(self, replicas: int) -> int:
        """Return which step of colour so many replicas have, of as many steps of equal width.

        >>> [HeatScale(has_room=False, most=10)._step(count) for count in (0, 1, 2, 3, 9, 10)]
        [0, 1, 1, 2, 5, 5]
        """
        return 1 + LEVELS * (replicas - 1) // self.most if replicas else 0


def percent_of(usages: Iterable[Usage]) -> int | None:
    """Return the greater part of cpu and memory that is taken, `None` where it is not known."""
    listed = list(usages)
    percents = []
    for name in MEASURED:
        known = [one for one in listed if (one.capacity or {}).get(name)]
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


def _heat_cell(
    usage: Usage, links: Links, leaving: Mapping[str, int], scale: HeatScale, *, is_named: bool
) -> HeatCell:
    percent, name = percent_of([usage]), usage.key.name
    text, look = scale.cell(percent, usage.replicas)
    if usage.over or not is_well(usage):
        look = "off" if usage.leaving else "ill"
    words = [one.word for one in cluster_states(usage)]
    words += [] if percent is None else [f"{percent} % used"]
    words += [f"{usage.objects} objects", f"{usage.replicas} replicas"]
    words += [f"{leaving[name]} leaving"] if leaving.get(name) else []
    words += [f"{len(usage.taints)} taints"] if usage.taints else []
    mark = "!" if look == "ill" else "-" if leaving.get(name) else ""
    return HeatCell(
        name=name if is_named else "",
        anchor=Anchor(f"{mark}{text}", links.cluster(usage.key)),
        look=look,
        says=f"{name}: {', '.join(words)}",
    )


def _zone_cell(
    region: str, zone: str, found: Sequence[Usage], links: Links, scale: HeatScale
) -> HeatCell:
    text, look = scale.cell(percent_of(found), sum(one.replicas for one in found))
    unwell = sum(not is_well(one) or bool(one.over) for one in found)
    name = place_of(region, zone)
    return HeatCell(
        name=zone or name,
        anchor=Anchor(
            f"{text} !{unwell}" if unwell else text,
            links.view("clusters", region=region, zone=zone),
        ),
        look="ill" if unwell else look,
        says=f"{name}: {_counted(found)}",
    )


def _counted(found: Sequence[Usage]) -> str:
    """Return what there is in a zone, in words."""
    percent = percent_of(found)
    unwell = sum(not is_well(one) for one in found)
    parts = [f"{len(found)} cluster{'s' if len(found) != 1 else ''}"]
    parts += [f"{unwell} not ready"] if unwell else []
    parts += [] if percent is None else [f"{percent} % used"]
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
