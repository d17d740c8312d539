"""Objects as kubectl's tables: one a kind, with the columns of the kind and those asked for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import click

from reconciler.cli.objects.columns import columns_of
from reconciler.cli.objects.shown_body import shown_body
from reconciler.cli.printing.coming import coming_cells, may_come
from reconciler.cli.printing.copies import copies_cells, may_have_copies
from reconciler.manifests.columns import NONE, Column, Row, label
from reconciler.model.labels import labels_of

if TYPE_CHECKING:
    from reconciler.audit.fleet.delivered_copies import Elsewhere
    from reconciler.audit.fleet.suspensions import Suspensions
    from reconciler.model.identity import ObjectKey
    from reconciler.model.known_kinds import Kind
    from reconciler.model.world import World

COMING: Column = ("COMING", lambda row: row.coming)
SUSPENDED: Column = ("SUSPENDED", lambda row: row.suspended)
COPIES: Sequence[Column] = (
    ("DELIVERED", lambda row: row.delivered),
    ("HEALTHY", lambda row: row.healthy),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What tables have.

    Attributes:
        wide: Whether the columns that are shown if asked for are there.
        namespaces: Whether namespaced kinds have a column with it.
        kinds: Whether names begin with their kind, as where there are several tables.
        labels: Keys of the labels that have a column of their own.
        all_labels: Whether a last column has all labels.
        suspended: Kinds that have a column with what suspends an object.
    """

    wide: bool = False
    namespaces: bool = False
    kinds: bool = False
    labels: Sequence[str] = ()
    all_labels: bool = False
    suspended: "Collection[Kind]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The table of one kind: whether each of its first two columns says more, and the others."""

    namespaces: bool
    kinds: bool
    columns: Sequence[Column]

    @property
    def titles(self) -> list[str]:
        """The head."""
        place = ["NAMESPACE"] if self.namespaces else []
        return [*place, "NAME", *(title for title, _ in self.columns)]

    def cells(self, key: "ObjectKey", row: Row) -> list[str]:
        """Return the line of one object."""
        place = [key.namespace] if self.namespaces else []
        name = typed_name(key) if self.kinds else key.name
        return [*place, name, *(show(row) for _, show in self.columns)]


def table_of(kind: "Kind", layout: Layout, *, namespaced: bool) -> Table:
    """Return the table of one kind."""
    labels = [(key.rpartition("/")[2].upper(), label(key)) for key in layout.labels]
    return Table(
        namespaces=layout.namespaces and namespaced,
        kinds=layout.kinds,
        columns=(
            *columns_of(*kind, wide=layout.wide),
            *([SUSPENDED] if kind in layout.suspended else []),
            *([COMING] if layout.wide and may_come(kind) else []),
            *(COPIES if layout.wide and may_have_copies(kind) else []),
            *labels,
            *([("LABELS", _labels)] if layout.all_labels else []),
        ),
    )


def rows_of(
    world: "World",
    keys: "Sequence[ObjectKey]",
    now: datetime,
    wide: "Elsewhere | None" = None,
    suspensions: "Suspensions | None" = None,
) -> "Mapping[ObjectKey, Row]":
    """Return what tables show of objects, in the order given.

    Args:
        world: That has them.
        keys: The objects.
        now: Moment of the question.
        wide: For wide tables, what is delivered on other branches.
        suspensions: Of the same world, `None` where they are not known yet.
    """
    from reconciler.audit.fleet.assumed_outputs import as_of
    from reconciler.audit.fleet.cluster_health import with_taints
    from reconciler.audit.fleet.suspensions import Suspensions
    from reconciler.model.settings import settings_in

    origins = {key: (world.inputs.get(key) or world.outputs[key]).origin for key in keys}
    settings = settings_in(world)
    shown = as_of(world, now, keys)
    bodies = {key: with_taints(world, settings, key[:2], shown_body(shown, key)) for key in keys}
    suspensions = suspensions or Suspensions(world)
    coming = {} if wide is None else coming_cells(world, keys)
    copies = {} if wide is None else copies_cells(world, keys, wide, now)
    return {
        key: Row(
            bodies[key],
            origins[key].path,
            now,
            coming.get(key, NONE),
            *copies.get(key, (NONE, NONE)),
            suspensions.cell(key) or NONE,
        )
        for key in keys
    }


def print_tables(
    world: "World",
    kinds: "Mapping[Kind, Sequence[ObjectKey]]",
    layout: Layout,
    *,
    headers: bool = True,
    wide: "Elsewhere | None" = None,
) -> None:
    """Print a table of each kind that has objects, with a blank line between."""
    from reconciler.cli.printing.table import print_table
    from reconciler.shell.clock import SystemClock

    every = [key for keys in kinds.values() for key in keys]
    rows = rows_of(world, every, SystemClock().now(), wide)
    listed = [(kind, keys) for kind, keys in kinds.items() if keys]
    layout = replace(layout, suspended=suspended_kinds(rows))
    for number, (kind, keys) in enumerate(listed):
        if number:
            click.echo()
        table = table_of(kind, layout, namespaced=any(key.namespace for key in keys))
        print_table(table.titles, [table.cells(key, rows[key]) for key in keys], headers=headers)


def suspended_kinds(rows: "Mapping[ObjectKey, Row]") -> "frozenset[Kind]":
    """Return the kinds of the objects that are suspended: only these have a column that says so."""
    return frozenset((key.group, key.kind) for key, row in rows.items() if row.suspended != NONE)


def typed_name(key: "ObjectKey") -> str:
    """Return an object as `-o name` prints it."""
    return f"{key.kind.lower()}{f'.{key.group}' if key.group else ''}/{key.name}"


def _labels(row: Row) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels_of(row.body).items())) or NONE
