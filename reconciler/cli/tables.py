"""Objects as kubectl's tables: one for each kind, aligned, without lines.

A table has the columns of its kind and those asked for; a kind without columns of its own has its
name and file. An object is shown as its user wrote it, with the status that passes keep beside it.
What clusters have of an object is printed here, too.
"""

import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from reconciler.cli.printing import coming_cells, may_come
from reconciler.core.dialects import dialect_of
from reconciler.manifests.columns import (
    FILE,
    NONE,
    Column,
    Columns,
    ColumnTable,
    Row,
    age,
    label,
    printed,
    printed_age,
)
from reconciler.manifests.identity import GROUP
from reconciler.model.labels import labels_of
from reconciler.model.records import dataclass, replace
from reconciler.model.text import printable
from reconciler.multicluster.cluster_profile import COLUMNS as PROFILE_COLUMNS
from reconciler.multicluster.placement_decision import COLUMNS as SLICE_COLUMNS
from reconciler.rebalance.view import COLUMNS as REBALANCE_COLUMNS
from reconciler.staging.view import COLUMNS as STAGED_COLUMNS

if TYPE_CHECKING:
    from reconciler.audit.fleet.copies import DeliveredCopy, Elsewhere
    from reconciler.audit.fleet.suspensions import Suspensions
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.kinds import Kind
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
    from reconciler.audit.fleet.suspensions import Suspensions
    from reconciler.audit.fleet.usage import with_taints
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
    from reconciler.shell.resources import SystemClock

    every = [key for keys in kinds.values() for key in keys]
    rows = rows_of(world, every, SystemClock().now(), wide)
    listed = [(kind, keys) for kind, keys in kinds.items() if keys]
    layout = replace(layout, suspended=suspended_kinds(rows))
    for number, (kind, keys) in enumerate(listed):
        if number:
            click.echo()
        table = table_of(kind, layout, namespaced=any(key.namespace for key in keys))
        cells = [table.cells(key, rows[key]) for key in keys]
        print_table(table.titles, cells, headers=headers, fits=not layout.wide)


def suspended_kinds(rows: "Mapping[ObjectKey, Row]") -> "frozenset[Kind]":
    """Return the kinds of the objects that are suspended: only these have a column that says so."""
    return frozenset((key.group, key.kind) for key, row in rows.items() if row.suspended != NONE)


def typed_name(key: "ObjectKey") -> str:
    """Return an object as `-o name` prints it."""
    return f"{key.kind.lower()}{f'.{key.group}' if key.group else ''}/{key.name}"


def _labels(row: Row) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels_of(row.body).items())) or NONE


def columns_of(group: str, kind: str, *, wide: bool) -> Sequence[Column]:
    """Return the columns after NAMESPACE and NAME."""
    dialect = dialect_of(group)
    ours = {} if dialect is None else dialect.view().world.columns
    unknown: Columns = ((), (FILE,))
    own = {**REBALANCE_COLUMNS, **STAGED_COLUMNS, **PROFILE_COLUMNS, **SLICE_COLUMNS}
    tables = {**WORKLOADS, **OURS, **own, **ours}
    narrow, more = tables.get((group, kind), unknown)
    return (*narrow, *more) if wide else narrow


WORKLOADS: ColumnTable = {
    ("apps", kind): ((("REPLICAS", printed(".spec.replicas")), ("AGE", age)), (FILE,))
    for kind in ("Deployment", "StatefulSet")
}
"""By kind, those of Kubernetes."""

OURS: ColumnTable = {
    (GROUP, "ReconcilerStatus"): (
        (
            ("LAST PASS", printed_age(".status.lastPassAt")),
            ("INPUT", printed(".status.inputRevision")),
            ("VERSION", printed(".status.version")),
        ),
        (FILE,),
    ),
}
"""By kind, our own."""


def shown_body(world: "World", key: "ObjectKey") -> "Body":
    """Return an object as people wrote it, with the status that is kept beside it."""
    written, ours = world.inputs.get(key), world.outputs.get(key)
    if written is None:
        return ours.body if ours is not None else {}
    if ours is None:
        return written.body
    merged = dict(written.body)
    for field in ("metadata", "status"):
        mine, theirs = ours.body.get(field), written.body.get(field)
        if isinstance(mine, dict):
            merged[field] = {**(theirs if isinstance(theirs, dict) else {}), **mine}
    return merged


def without_secrets(shown: "Mapping[ObjectKey, Body]") -> "dict[ObjectKey, Body]":
    """Hide the values of Secrets, and say so on standard error."""
    from reconciler.manifests import secrets

    kept = {key: secrets.without_secrets(body) for key, body in shown.items()}
    hidden = sum(kept[key] is not body for key, body in shown.items())
    if hidden:
        said = "a Secret are" if hidden == 1 else f"{hidden} Secrets are"
        click.echo(f"the values of {said} hidden; --show-secrets prints them", err=True)
    return kept


GAP = "   "


def print_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    headers: bool = True,
    bad: Collection[int] = (),
    fits: bool = False,
) -> None:
    """Print an aligned table without lines, as kubectl does, to standard output.

    Args:
        titles: Its head.
        rows: Cells, as many each.
        headers: Whether the head is printed.
        bad: Numbers of the rows, from 0, that are red on a terminal.
        fits: Whether long cells are cut on a terminal that is too narrow for them.
    """
    if fits and sys.stdout.isatty():
        rows = fitting(titles, rows, shutil.get_terminal_size().columns)
    for line in table_lines(titles, rows, headers=headers, bad=bad):
        click.echo(line)


NAMES = frozenset({"NAMESPACE", "NAME", "OBJECT", "COMMIT"})
"""The columns that people copy from; they are never cut."""
NARROWEST = 12  # of a column that is cut
CUT = "…"


def fitting(
    titles: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> Sequence[Sequence[str]]:
    """Return rows whose widest cells are cut so that their lines are as wide as a terminal.

    >>> fitting(["NAME", "MESSAGE"], [["a", "a sentence that is too long"]], 22)
    [['a', 'a sentence tha…']]
    """
    widths = widths_of([titles, *rows])
    gaps = len(GAP) * (len(widths) - 1)
    names = sum(w for title, w in zip(titles, widths, strict=True) if title in NAMES)
    others = [w for title, w in zip(titles, widths, strict=True) if title not in NAMES]
    most = max(others, default=0)
    while most > NARROWEST and names + gaps + sum(min(w, most) for w in others) > width:
        most -= 1
    return [
        [
            text if title in NAMES or len(text) <= most else f"{text[: most - 1]}{CUT}"
            for title, text in zip(titles, map(printable, row), strict=True)
        ]
        for row in rows
    ]


def table_lines(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    headers: bool = True,
    bad: Collection[int] = (),
) -> list[str]:
    """Return an aligned table line by line; on a terminal its head is bold, what is bad is red."""
    widths = widths_of([titles, *rows] if headers else rows)
    aligned = [aligned_line(row, widths) for row in rows]
    colours = sys.stdout.isatty()
    for number in bad if colours else ():
        aligned[number] = click.style(aligned[number], fg="red")
    if headers:
        head = aligned_line(titles, widths)
        aligned.insert(0, click.style(head, bold=True) if colours else head)
    return aligned


def widths_of(lines: Iterable[Sequence[str]]) -> list[int]:
    """Return how wide each column is."""
    return [max(map(len, map(printable, column))) for column in zip(*lines, strict=True)]


def aligned_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line of a table; a cell wider than its column moves the rest of its line."""
    shown = map(printable, cells)
    padded = (cell.ljust(width) for cell, width in zip(shown, widths, strict=True))
    return GAP.join(padded).rstrip()


MOST_ROWS = 30  # -o json has all


def copies_lines(copies: "Sequence[DeliveredCopy]", cluster: str | None) -> list[str]:
    """Return what each cluster has, a row each; with `cluster` that one only.

    Where nothing is delivered, that is said once, of all clusters.
    """
    from reconciler.audit.fleet.copy_counts import NO_TRANSPORT, files_text, report_text

    listed = [one for one in copies if cluster in (None, one.status.cluster)]
    if not listed:
        return []
    if not any(one.files for one in listed):
        return [] if cluster else [NO_TRANSPORT]
    rows = [
        [
            str(one.status.cluster),
            f"{each.transport}: {files_text(each)}",
            report_text(one.status),
            one.status.waits_for or "-",
        ]
        for one in listed[:MOST_ROWS]
        for each in one.files
    ]
    rest = len(listed) - MOST_ROWS
    more = [f"and {rest} more; -o json has all"] if rest > 0 else []
    titles = ["CLUSTER", "DELIVERED", "REPORTED", "WAITS FOR"]
    rows = [[printable(cell) for cell in row] for row in rows]
    return ["What runs there:", *table_lines(titles, rows), *more]


def may_have_copies(kind: "Kind") -> bool:
    """Return whether objects of a kind, or decisions about them, may be on clusters."""
    from reconciler.core.dialects import CLUSTERS, KINDS, PLACED, dialect_of
    from reconciler.dialects.view import no_copies

    dialect = dialect_of(kind[0])
    if dialect is None:
        return kind[0] not in KINDS.groups and kind not in {*CLUSTERS, *KINDS.owned}
    return kind in PLACED and dialect.view().world.copies is not no_copies


def copies_cells(
    world: "World", keys: "Sequence[ObjectKey]", elsewhere: "Elsewhere", now: datetime
) -> "dict[ObjectKey, tuple[str, str]]":
    """Return of how many of its clusters an object is delivered to, and healthy in by now."""
    from reconciler.audit.fleet.copies import CopiesOf
    from reconciler.core.dialects import decision_on

    copies_of = CopiesOf(world, now, elsewhere)
    cells = {}
    for key in keys:
        decided = decision_on(key)
        copies = () if decided is None else copies_of(decided)
        stay = [one for one in copies if not one.status.leaving]
        if stay:
            delivered = sum(one.is_delivered for one in stay)
            healthy = sum(one.is_fine for one in stay)
            cells[key] = (f"{delivered}/{len(stay)}", f"{healthy}/{len(stay)}")
    return cells
