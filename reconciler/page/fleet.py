"""The fleet as a view, all clusters as a list, and one cluster as a view.

The fleet shows what is wrong, the clusters by region and zone, what moves and what comes. The list
is filtered and sorted by its address. A cluster shows its room, what is wrong with it, all that
runs there, and what left it.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.trouble import Trouble, is_well
from reconciler.audit.fleet.usage import DECLARED, Usage, clusters_down
from reconciler.audit.previews.foresight import Coming, is_on_cluster, of_cluster
from reconciler.audit.previews.wording import step_text
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.records import dataclass
from reconciler.model.world import World
from reconciler.page.links import Anchor, Links
from reconciler.page.lists import (
    DELETED,
    NO_REPORT,
    NOT_READY,
    SIZE,
    Amount,
    ListQuery,
    ListView,
    ObjectChoice,
    ObjectStates,
    Page,
    SortColumn,
    State,
    amounts_of,
    called,
    chosen,
    cluster_states,
    health_of,
    list_view,
    page_of,
)
from reconciler.page.matrix import NOWHERE, HeatMap, heat_map, percent_of, place_of
from reconciler.page.objects import ObjectRow, object_row
from reconciler.page.pictures import BandPicture, BarPicture, Past
from reconciler.page.rendering import WrongView
from reconciler.page.timeline import PassStep


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView:
    """The view.

    Attributes:
        wrong: What is wrong now.
        heat: The clusters as a heat map.
        clusters: How many there are, and where they are listed.
        unwell: How many do not report that they are ready.
        reporting: How many report how they are.
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
    clusters: tuple[int, Anchor]
    unwell: int
    reporting: int
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
        clusters=(len(every), Anchor("clusters", links.view("clusters"))),
        unwell=sum(not is_well(one) for one in every),
        reporting=sum(one.ready != DECLARED for one in every),
        objects=(objects, Anchor("objects placed", links.view("objects"))),
        replicas=sum(one.replicas for one in every),
        moves=past.by_hour(),
        steps=steps,
        coming=coming if coming is None else coming[:5],
        asked=Anchor("upcoming changes", links.view("coming")),
        timeline=Anchor("all passes", links.view("timeline")),
    )


STATES: Mapping[str, tuple[str, Callable[[Usage], bool]]] = {
    "not-ready": ("not ready", lambda one: health_of(one) in (NOT_READY, DELETED)),
    "no-report": ("no report", lambda one: health_of(one) == NO_REPORT),
    "over": ("over-committed", lambda one: bool(one.over)),
    "tainted": ("tainted", lambda one: bool(one.taints)),
    "empty": ("nothing on it", lambda one: not one.objects),
}
"""By the word of the address, what a filter is called, and which clusters pass it."""


def _badness(usage: Usage) -> tuple[int, int]:
    """Return how bad a cluster is; among those with more placed than there is, by how much."""
    percent = percent_of([usage]) or 0
    return min(one.rank for one in cluster_states(usage)), -percent if usage.over else 0


COLUMNS: Mapping[str, SortColumn[Usage]] = {
    "health": SortColumn(title="state", order=_badness),
    "name": SortColumn(title="cluster", order=lambda one: one.key.name),
    "region": SortColumn(title="region", order=lambda one: (one.region, one.zone)),
    "objects": SortColumn(title="objects", order=lambda one: one.objects, is_number=True),
    "replicas": SortColumn(title="replicas", order=lambda one: one.replicas, is_number=True),
    "taken": SortColumn(
        title="used", order=lambda one: percent_of([one]) or 0, greatest_first=True
    ),
    "taints": SortColumn(title="taints", order=lambda one: len(one.taints), greatest_first=True),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQuery(ListQuery):
    """Which clusters a person asks to see; `""` of each is all."""

    region: str = ""
    zone: str = ""
    name: str = ""

    @property
    def words(self) -> Mapping[str, str]:
        """The parts of an address that say it."""
        return {"region": self.region, "zone": self.zone, "name": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """One cluster; `coming` is what leaves it or comes to it first, and when, `""` if nothing."""

    usage: Usage
    anchor: Anchor
    place: str
    states: Sequence[State]
    amounts: Sequence[Amount]
    coming: str


ClusterListView = ListView[ClusterQuery, ClusterRow]


def cluster_list_view(
    usages: Iterable[Usage],
    query: ClusterQuery,
    links: Links,
    coming: Sequence[Coming],
    *,
    size: int = SIZE,
) -> ClusterListView:
    """Return the view.

    Args:
        usages: Every cluster with what is on it.
        query: What is asked for.
        links: Where views lead.
        coming: What comes, in the order of time; empty where that is not computed.
        size: How many clusters a page has.
    """
    every = sorted(usages, key=lambda one: (*_badness(one), one.key.name, one.key.kind))
    return list_view(
        "clusters",
        [one for one in every if _matches(one, query)],
        query,
        COLUMNS,
        lambda one: _row(one, links, coming),
        links,
        states={name: told for name, (told, _) in STATES.items()},
        choices=sorted({one.region for one in every if one.region}),
        worst_first="health",
        groupings={
            "region": lambda one: (one.region or NOWHERE,),
            "zone": lambda one: (place_of(one.region, one.zone),),
        },
        size=size,
    )


def _matches(usage: Usage, query: ClusterQuery) -> bool:
    state = STATES.get(query.state)
    return (
        (state is None or state[1](usage))
        and query.region in ("", usage.region)
        and query.zone in ("", usage.zone)
        and query.name in usage.key.name
    )


def _row(usage: Usage, links: Links, coming: Sequence[Coming]) -> ClusterRow:
    first = of_cluster(coming, usage.key)
    return ClusterRow(
        usage=usage,
        anchor=Anchor(usage.key.name, links.cluster(usage.key)),
        place=place_of(usage.region, usage.zone) if usage.region or usage.zone else "",
        states=cluster_states(usage),
        amounts=amounts_of(usage),
        coming="" if first is None else f"{first[1]} at {format_moment(first[0])}",
    )


PLACED_SIZE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionLine:
    """A condition that a cluster reports; `at` is since when, `None` where it does not say."""

    type: str
    status: str
    reason: str
    message: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HereRow:
    """An object on the cluster: the object, and how many replicas it has here."""

    row: ObjectRow
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingRow:
    """An object whose copy is here still, and for what its end waits."""

    anchor: Anchor
    namespace: str
    waits: str


class DepartureRow(NamedTuple):
    """An object that leaves the cluster: replicas here, what others get, where it is afterwards."""

    anchor: Anchor
    namespace: str
    replicas: int
    gains: Sequence[tuple[str, int]]
    after: Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """What leaves the cluster at one moment, and where to: the first objects, and all in numbers.

    `gains` is how many replicas each cluster gets, the most first, `nowhere` how many objects are
    on no cluster from then on. `is_due` is whether the moment has come already.
    """

    at: datetime
    is_due: bool
    objects: int
    replicas: int
    gains: Sequence[tuple[str, int]]
    nowhere: int
    rows: Sequence[DepartureRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingCluster:
    """What becomes of a cluster that is not well, and of all that is on it.

    Attributes:
        says: What is wrong with it, `""` where it does not say.
        departures: What leaves it, in the order of time; `None` where that is not computed.
        note: Why it is not, `""` where it is.
        stay: How many objects leave at no moment that is known.
    """

    says: str
    departures: Sequence[Departure] | None
    note: str
    stay: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassHere:
    """What a pass changed on a cluster: objects that left it or lost replicas, and that came.

    `gone` and `came` are objects with what became of their part; `known` is whether the pass wrote
    few enough files to be read.
    """

    step: PassStep
    gone: Sequence[tuple[Anchor, str]]
    came: Sequence[tuple[Anchor, str]]
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The view.

    Attributes:
        usage: The cluster with what is on it.
        place: Where it stands.
        states: How it is.
        amounts: What is taken of each resource.
        conditions: What it reports of itself.
        labels: By which it is chosen, sorted.
        rows: All that is placed on it.
        failing: What becomes of it and of all that is on it, `None` of one that is well.
        leaving: What leaves it.
        coming: What happens to what is on it by itself; `None` where that is not computed.
        moves: What came and left, hour by hour.
        past: What was on it over time, `None` where that did not change.
        passes: What the newest passes changed on it, the newest first.
        all_coming: Where all that comes is told.
        what_if: Where it is computed what moves if it fails.
        manifest: Where its file is shown.
        matrix: Where all on it is shown with the other clusters that has it.
    """

    usage: Usage
    place: str
    states: Sequence[State]
    amounts: Sequence[Amount]
    conditions: Sequence[ConditionLine]
    labels: Mapping[str, str]
    rows: Page[HereRow]
    failing: FailingCluster | None
    leaving: Sequence[LeavingRow]
    coming: Sequence[Coming] | None
    moves: BarPicture
    past: BandPicture | None
    passes: Sequence[PassHere]
    all_coming: Anchor
    what_if: Anchor
    manifest: Anchor
    matrix: Anchor


def cluster_view(
    world: World,
    usage: Usage,
    placements: Mapping[ObjectKey, Placed],
    trouble: Trouble,
    links: Links,
    *,
    coming: Sequence[Coming] | None,
    unknown: str = "",
    past: Past,
    steps: Sequence[PassStep],
    page: int = 1,
    size: int = PLACED_SIZE,
) -> ClusterView:
    """Return the view.

    Args:
        world: That is asked about.
        usage: The cluster with what is on it.
        placements: Where everything is.
        trouble: What is wrong.
        links: Where views lead.
        coming: What comes, in the order of time; `None` where that is not computed.
        unknown: Why it is not.
        past: What moved.
        steps: The newest passes, the newest first.
        page: Which page of the objects on it.
        size: How many objects a page has.
    """
    name, states = usage.key.name, ObjectStates(trouble)
    keys = chosen(world, placements, ObjectChoice(cluster=name))
    found = page_of(
        keys,
        page,
        size,
        lambda n: links.view("cluster", kind=usage.key.kind, name=name, page=n),
    )
    body = world.inputs[usage.key].body
    return ClusterView(
        usage=usage,
        place=place_of(usage.region, usage.zone),
        states=cluster_states(usage),
        amounts=amounts_of(usage, every=True),
        conditions=_conditions(body),
        labels=dict(sorted(mapping(mapping(body, "metadata"), "labels").items())),  # type: ignore[arg-type]
        rows=found.of(
            [_here(world, key, placements[key], name, states, links) for key in found.items]
        ),
        failing=None
        if is_well(usage)
        else _failing(world, usage, coming, unknown, links, past.now),
        leaving=list(_leaving(world, trouble, name, states, links)),
        coming=None if coming is None else [one for one in coming if is_on_cluster(one, name)],
        moves=past.by_hour(name),
        past=past.of_cluster(usage),
        passes=list(filter(None, (_pass(world, step, name, links) for step in steps))),
        all_coming=Anchor("upcoming changes", links.view("coming")),
        what_if=Anchor("What if it fails?", links.view("what-if", fail=name)),
        manifest=Anchor("manifest", links.manifest(usage.key)),
        matrix=Anchor("where else it runs", links.view("matrix", cluster=name)),
    )


MOST_LEAVING = 40  # objects that are listed of one moment


def _failing(
    world: World,
    usage: Usage,
    coming: Sequence[Coming] | None,
    unknown: str,
    links: Links,
    now: datetime,
) -> FailingCluster:
    """Return what becomes of a cluster that is not well."""
    name = usage.key.name
    down = clusters_down(world, (usage.key.group,))[usage.key.group]
    leaves = [one for one in coming or () if _loses(one, name)]
    return FailingCluster(
        says=down.get(ClusterName(name), ""),
        departures=None
        if coming is None
        else [
            _departure(world, at, list(found), name, links, is_due=at <= now)
            for at, found in groupby(leaves, key=lambda one: one.at)
        ],
        note=unknown if coming is None else "",
        stay=usage.objects - len({one.key for one in leaves}),
    )


def _loses(coming: Coming, name: str) -> bool:
    """Return whether an object leaves a cluster, or has less there than before."""
    then, later = dict(coming.before or ()), dict(coming.after or ())
    here = ClusterName(name)
    return here in then and (here not in later or later[here] < then[here])


def _departure(
    world: World, at: datetime, found: Sequence[Coming], name: str, links: Links, *, is_due: bool
) -> Departure:
    """Return what leaves a cluster at one moment."""
    rows, nowhere = [], 0
    sums: Counter[str] = Counter()
    for one in found:
        then, later = dict(one.before or ()), dict(one.after or ())
        gains = [
            (str(cluster), count - then.get(cluster, 0))
            for cluster, count in later.items()
            if count > then.get(cluster, -1)
        ]
        lost = then[ClusterName(name)] - later.get(ClusterName(name), 0)
        nowhere += not later
        sums.update(dict(gains))
        person = named(world, one.key)
        anchor = Anchor(called(person), links.object(person))
        rows.append(DepartureRow(anchor, one.key.namespace, lost, gains, one.after or ()))
    return Departure(
        at=at,
        is_due=is_due,
        objects=len(rows),
        replicas=sum(row.replicas for row in rows),
        gains=sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])),
        nowhere=nowhere,
        rows=rows[:MOST_LEAVING],
    )


def _here(
    world: World, key: ObjectKey, placed: Placed, name: str, states: ObjectStates, links: Links
) -> HereRow:
    return HereRow(
        row=object_row(world, key, placed, states, links),
        replicas=next((count for cluster, count in placed if cluster == name), 0),
    )


def _leaving(
    world: World, trouble: Trouble, name: str, states: ObjectStates, links: Links
) -> "list[LeavingRow]":
    """Return what leaves a cluster."""
    rows = []
    for key, copies in trouble.waiting.items():
        for copy in copies:
            if copy.leaving and copy.cluster == name:
                row = object_row(world, key, (), states, links)
                rows.append(
                    LeavingRow(anchor=row.anchor, namespace=key.namespace, waits=copy.waits_for)
                )
    return rows


def _pass(world: World, step: PassStep, name: str, links: Links) -> PassHere | None:
    """Return what a pass changed on a cluster, `None` if nothing."""
    gone: list[tuple[Anchor, str]] = []
    came: list[tuple[Anchor, str]] = []
    for one in step.every:
        for move in one.moves:
            if move.cluster == name:
                person = named(world, one.key)
                anchor = Anchor(called(person), links.object(person))
                is_less = move.after is None or move.delta < 0
                (gone if is_less else came).append((anchor, step_text(move)))
    if not gone and not came and step.rest is not None:
        return None
    return PassHere(step=step, gone=gone, came=came, known=step.rest is not None)


def _conditions(body: Body) -> list[ConditionLine]:
    """Return what a cluster reports of itself, in the order of its file."""
    return [
        ConditionLine(
            type=text(one, "type"),
            status=text(one, "status"),
            reason=text(one, "reason"),
            message=text(one, "message"),
            at=_moment(text(one, "lastTransitionTime")),
        )
        for one in bodies(mapping(body, "status"), "conditions")
    ]


def _moment(told: str) -> datetime | None:
    """Return a moment of a file, `None` where it is none."""
    try:
        return parse_moment(told) if told else None
    except ValueError:
        return None
