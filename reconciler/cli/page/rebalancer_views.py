"""Every rebalancer as the page shows it: its columns, its progress, what comes of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from reconciler.cli.objects.object_tables import Layout, rows_of, suspended_kinds, table_of
from reconciler.cli.page.views import ComingView, PageViews
from reconciler.cli.printing.coming import coming_cell
from reconciler.core.dialects import KINDS
from reconciler.manifests.text.emitter import encode
from reconciler.model.fields import mapping
from reconciler.shell.clock import SystemClock

if TYPE_CHECKING:
    from reconciler.audit.previews.foresight import Coming
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World

UNKNOWN = "not computed yet"


class RebalancerRow(NamedTuple):
    """One rebalancer: its columns, its name, the lines of its status."""

    cells: Sequence[str]
    name: str
    status: Sequence[str]


class RebalancersView(NamedTuple):
    """All of them, a table each kind, and what comes of them."""

    tables: Sequence[tuple[str, Sequence[str], Sequence[RebalancerRow]]]
    coming: ComingView


def rebalancers_view(views: PageViews, problem: str = "") -> RebalancersView:
    """Return every rebalancer with its progress, and its next run.

    Args:
        views: What is known of the commit.
        problem: As for `PageViews.unknown`.
    """
    world = views.world
    kinds: dict[tuple[str, str], list[ObjectKey]] = {}
    for key in sorted(key for key in world.inputs if key[:2] in KINDS.removable):
        kinds.setdefault((key.group, key.kind), []).append(key)
    every = [key for keys in kinds.values() for key in keys]
    coming = views.coming(problem) if every else ComingView(())
    comes: dict[ObjectKey, list[Coming]] = {key: [] for key in every}
    for one in coming.found:
        comes.get(one.key, []).append(one)
    found = rows_of(world, every, SystemClock().now(), suspensions=views.suspensions)
    rows = {
        key: replace(row, coming=UNKNOWN if coming.note else coming_cell(comes[key]))
        for key, row in found.items()
    }
    tables = []
    for kind, keys in kinds.items():
        namespaced = any(key.namespace for key in keys)
        layout = Layout(wide=True, namespaces=True, suspended=suspended_kinds(rows))
        table = table_of(kind, layout, namespaced=namespaced)
        listed = [
            RebalancerRow(table.cells(key, rows[key]), key.name, _progress(world, key))
            for key in keys
        ]
        tables.append((kind[1], table.titles, listed))
    told = [one for one in coming.found if one.key in comes]
    return RebalancersView(tables, ComingView(told, coming.note))


def _progress(world: "World", key: "ObjectKey") -> list[str]:
    """Return the status of a rebalancer, line by line, `[]` if no pass has seen it."""
    ours = world.outputs.get(key)
    status = {} if ours is None else mapping(ours.body, "status")
    return encode(dict(status)).splitlines() if status else []
