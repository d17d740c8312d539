"""Where everything runs as a view: objects down, clusters across, replicas where they meet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from reconciler.audit.fleet.decided_objects import DecidedObjects
from reconciler.audit.fleet.placed import named
from reconciler.audit.previews.wording import share
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World
from reconciler.page.chosen_objects import ObjectChoice, called, chosen, namespaces_of
from reconciler.page.heat_map import level_of
from reconciler.page.links import Anchor, Links
from reconciler.page.pages import Page, page_of

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
    found = decided.of(key).policy
    return UNCLAIMED if found is None else called(found)


def _regions(columns: Sequence[str], known: Mapping[str, str]) -> Sequence[tuple[str, int]]:
    """Return the regions of clusters that stand beside each other."""
    found = [
        (name, len(list(group))) for name, group in groupby(columns, lambda c: known.get(c, ""))
    ]
    return found if any(name for name, _ in found) else ()


def _row(
    world: World, key: ObjectKey, placed: Placed, columns: Sequence[str], most: int, links: Links
) -> MatrixRow:
    """Return one object; `most` is the greatest part that is shown."""
    there = {str(name): count for name, count in placed}
    away = [count for name, count in there.items() if name not in columns]
    return MatrixRow(
        anchor=Anchor(called(named(world, key)), links.object(key)),
        namespace=key.namespace,
        cells=tuple(_cell(there.get(name), most) for name in columns),
        clusters=len(placed),
        replicas=sum(there.values()),
        elsewhere=f"{sum(away) or ''} on {len(away)}".strip() if away else "",
    )


def _cell(count: int | None, most: int) -> MatrixCell:
    """Return the part of an object on a cluster."""
    if count is None:
        return MatrixCell("", "")
    return MatrixCell(share(count), f"use-{level_of(90 * count // most) if most and count else 1}")
