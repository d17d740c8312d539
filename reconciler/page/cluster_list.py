"""All clusters as a list: filtered and sorted by what the address says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.fleet.usage import Usage
from reconciler.audit.previews.foresight import Coming, of_cluster
from reconciler.model.moments import format_moment
from reconciler.page.heat_map import percent_of, place_of
from reconciler.page.links import Anchor, Links
from reconciler.page.list_view import SIZE, ListQuery, ListView, list_view
from reconciler.page.room import Amount, amounts_of
from reconciler.page.sorting import SortColumn
from reconciler.page.states import DELETED, NO_REPORT, NOT_READY, State, cluster_states, health_of

STATES: Mapping[str, tuple[str, Callable[[Usage], bool]]] = {
    "not-ready": ("not ready", lambda one: health_of(one) in (NOT_READY, DELETED)),
    "no-report": ("no report", lambda one: health_of(one) == NO_REPORT),
    "over": ("over-committed", lambda one: bool(one.over)),
    "tainted": ("tainted", lambda one: bool(one.taints)),
    "empty": ("nothing on it", lambda one: not one.objects),
}
"""By the word of the address, what a filter is called, and which clusters pass it."""
COLUMNS: Mapping[str, SortColumn[Usage]] = {
    "name": SortColumn(title="cluster", order=lambda one: one.key.name),
    "region": SortColumn(title="region", order=lambda one: (one.region, one.zone)),
    "health": SortColumn(title="health", order=lambda one: (one.ready, one.leaving)),
    "objects": SortColumn(title="objects", order=lambda one: one.objects, is_number=True),
    "replicas": SortColumn(title="replicas", order=lambda one: one.replicas, is_number=True),
    "taken": SortColumn(title="taken", order=lambda one: percent_of([one]) or 0, is_number=True),
    "taints": SortColumn(title="taints", order=lambda one: len(one.taints), is_number=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
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
    every = sorted(usages, key=lambda one: (one.key.name, one.key.kind))
    return list_view(
        "clusters",
        [one for one in every if _matches(one, query)],
        query,
        COLUMNS,
        lambda one: _row(one, links, coming),
        links,
        states={name: told for name, (told, _) in STATES.items()},
        choices=sorted({one.region for one in every if one.region}),
        size=size,
    )


def _matches(usage: Usage, query: ClusterQuery) -> bool:
    """Return whether a cluster is asked for."""
    state = STATES.get(query.state)
    return (
        (state is None or state[1](usage))
        and query.region in ("", usage.region)
        and query.zone in ("", usage.zone)
        and query.name in usage.key.name
    )


def _row(usage: Usage, links: Links, coming: Sequence[Coming]) -> ClusterRow:
    """Return one cluster."""
    first = of_cluster(coming, usage.key)
    return ClusterRow(
        usage=usage,
        anchor=Anchor(usage.key.name, links.cluster(usage.key)),
        place=place_of(usage.region, usage.zone) if usage.region or usage.zone else "",
        states=cluster_states(usage),
        amounts=amounts_of(usage),
        coming="" if first is None else f"{first[1]} at {format_moment(first[0])}",
    )
