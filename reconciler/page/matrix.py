"""Where everything runs as a view: objects down, clusters across, replicas where they meet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from reconciler.audit.fleet.placed import workload_on
from reconciler.audit.previews.wording import share
from reconciler.core.dialects import dialect_of
from reconciler.manifests.label_selector import parse_selector
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of, matches
from reconciler.model.world import World
from reconciler.page.links import Anchor, Links
from reconciler.page.pages import Page, page_of

ROWS, COLUMNS = 50, 24
BY_POLICY, BY_NAMESPACE = "policy", "namespace"
UNCLAIMED = "no policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixQuery:
    """What a person asks to see: only what matches all of it; `""` of each is all."""

    namespace: str = ""
    selector: str = ""
    name: str = ""
    cluster: str = ""
    group: str = BY_NAMESPACE
    page: int = 1
    across: int = 1


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One object: how people call it, where it is told, and its part on each cluster shown."""

    anchor: Anchor
    namespace: str
    cells: tuple[str, ...]
    clusters: int
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixView:
    """The view; `groups` are titles with rows, `columns` clusters, in pages both."""

    query: MatrixQuery
    namespaces: Sequence[str]
    groups: Sequence[tuple[str, Sequence[MatrixRow]]]
    rows: Page[ObjectKey]
    columns: Page[str]
    form: bool = True


def matrix_view(
    world: World,
    placements: Mapping[ObjectKey, Placed],
    query: MatrixQuery,
    links: Links,
    *,
    rows: int = ROWS,
    columns: int = COLUMNS,
) -> MatrixView:
    """Return the view.

    Args:
        world: That is asked about.
        placements: Where everything is in it.
        query: What is asked for.
        links: Where views lead.
        rows: How many objects a page has.
        columns: How many clusters a page has.

    Raises:
        UsageError: The selector is none.
    """
    title = _titles(world, query.group)
    keys = sorted(_matching(world, placements, query), key=lambda key: (title(key), key))
    shown = page_of(keys, query.page, rows, lambda n: _link(links, replace(query, page=n)))
    there = {name for key in shown.items for name, _ in placements[key]}
    names = sorted(there) if not query.cluster else [query.cluster]
    across = page_of(
        [str(name) for name in names],
        query.across,
        columns,
        lambda n: _link(links, replace(query, across=n)),
    )
    return MatrixView(
        query=query,
        namespaces=sorted({key.namespace for key in placements if key.namespace}),
        groups=[
            (name, [_row(world, key, placements[key], across.items, links) for key in group])
            for name, group in groupby(shown.items, key=title)
        ],
        rows=shown,
        columns=across,
    )


def named(world: World, key: ObjectKey) -> ObjectKey:
    """Return the object that people mean by what is decided: of a binding its workload."""
    return workload_on(world, key) or key


def called(key: ObjectKey) -> str:
    """Return an object as people call it."""
    return f"{key.kind.lower()}/{key.name}"


def _link(links: Links, query: MatrixQuery) -> str:
    """Return where other pages of the same question are."""
    return links.view(
        "matrix",
        namespace=query.namespace,
        selector=query.selector,
        name=query.name,
        cluster=query.cluster,
        group=query.group,
        page=query.page,
        across=query.across,
    )


def _matching(
    world: World, placements: Mapping[ObjectKey, Placed], query: MatrixQuery
) -> list[ObjectKey]:
    """Return the objects that are asked for."""
    selector = parse_selector(query.selector) if query.selector.strip() else None
    found = []
    for key in placements:
        if query.namespace not in ("", key.namespace):
            continue
        if query.cluster and all(query.cluster != name for name, _ in placements[key]):
            continue
        if query.name and query.name not in called(named(world, key)):
            continue
        if selector is not None:
            person = world.inputs.get(named(world, key))
            if person is None or not matches(selector, labels_of(person.body)):
                continue
        found.append(key)
    return found


def _titles(world: World, group: str) -> Callable[[ObjectKey], str]:
    """Return what says under which title an object stands."""
    if group != BY_POLICY:
        return lambda key: key.namespace or "no namespace"
    return lambda key: _policy(world, key)


def _policy(world: World, key: ObjectKey) -> str:
    """Return the policy that an object belongs to, as people call it."""
    dialect, output = dialect_of(key.group), world.outputs.get(key)
    found = None if dialect is None or output is None else dialect.view().policy_of(output.body)
    return UNCLAIMED if found is None else called(found)


def _row(
    world: World, key: ObjectKey, placed: Placed, columns: Sequence[str], links: Links
) -> MatrixRow:
    """Return one object."""
    there = {str(name): count for name, count in placed}
    return MatrixRow(
        anchor=Anchor(called(named(world, key)), links.object(key)),
        namespace=key.namespace,
        cells=tuple(share(there[name]) if name in there else "" for name in columns),
        clusters=len(placed),
        replicas=sum(there.values()),
    )
