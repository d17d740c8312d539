"""`get --watch`: a table, and then a line for each row that a commit changes."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from reconciler.cli.get_output import by_kind, layout_of, print_manifests
from reconciler.cli.selection import matching
from reconciler.cli.tables import (
    Table,
    aligned_line,
    rows_of,
    suspended_kinds,
    table_lines,
    table_of,
    typed_name,
    widths_of,
)
from reconciler.model.records import dataclass, field, replace

if TYPE_CHECKING:
    from reconciler.cli.kinds import AskedKind
    from reconciler.cli.selection import Query
    from reconciler.manifests.columns import Row
    from reconciler.model.identity import ObjectKey
    from reconciler.model.kinds import Kind
    from reconciler.model.world import World
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.reading.load import Loader


ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


@dataclass(slots=True)
class Watch:
    """Prints what is asked for, then what changes of it; `events` adds the column EVENT."""

    repository: "Repository"
    loader: "Loader"
    branch: str
    asked: "Sequence[AskedKind]"
    query: "Query"
    events: bool
    _rows: "Mapping[ObjectKey, Row]" = field(default_factory=dict)
    _tables: "dict[Kind, Table]" = field(default_factory=dict)
    _widths: "dict[Kind, Sequence[int]]" = field(default_factory=dict)

    def run(self, poll_seconds: float) -> None:
        """Print until interrupted."""
        from reconciler.shell.daemon.watch import Wakeups

        sources: tuple[str, str] | None = None
        world: World | None = None
        # Watching begins before the first look, so that no commit is missed between them.
        with Wakeups(self.repository.common_dir, poll_seconds=poll_seconds) as wakeups:
            while True:
                present = self.loader.sources_of(self.repository.resolve(self.branch))
                if present != sources:
                    before, world = world, self.loader.load(present[0])
                    self._show(world, before)
                    sources = present
                    sys.stdout.flush()
                if not wakeups.wait():
                    return

    def _show(self, world: "World", before: "World | None") -> None:
        """Print what differs from the world before; without one, all there is."""
        from reconciler.shell.reading.sources import branch_files
        from reconciler.shell.resources import SystemClock

        now = SystemClock().now()
        # Once the table is there, lines follow as they come.
        query = self.query if before is None else replace(self.query, sort_by=None)
        kinds = by_kind(world, matching(world, self.asked, query), query)
        keys = [key for keys in kinds.values() for key in keys]
        wide = branch_files(self.repository, world) if self.query.output == "wide" else None
        rows = rows_of(world, keys, now, wide)
        for kind in kinds:
            self._make_table(world, kind, rows)
        if before is not None and self.query.output != "wide":  # what time alone changed is no news
            same = [key for key in rows if key in self._rows and _is_same(world, before, key)]
            self._rows = {**self._rows, **{key: rows[key] for key in same}}
        changed = list(self._changes(rows, now))
        self._rows = rows
        if self.query.output == "name":
            for key, _, _ in changed:
                click.echo(typed_name(key))
        elif self.query.output in ("yaml", "json"):
            for key, event, _ in changed:
                if self.query.output == "yaml":
                    click.echo("---")
                place = before if event == DELETED and before is not None else world
                print_manifests(place, [key], self.query, single=True)
        else:
            self._print_rows(changed)

    def _make_table(self, world: "World", kind: "Kind", rows: "Mapping[ObjectKey, Row]") -> None:
        """Choose the columns of a kind, once."""
        if kind not in self._tables:
            layout = layout_of(self.query, several=len({one.kind for one in self.asked}) > 1)
            layout = replace(layout, suspended=suspended_kinds(rows))
            there = any(key.namespace for key in rows if key[:2] == kind)
            namespaced = world.known.scopes.get(kind, there)
            self._tables[kind] = table_of(kind, layout, namespaced=namespaced)

    def _changes(
        self, rows: "Mapping[ObjectKey, Row]", now: datetime
    ) -> "Iterator[tuple[ObjectKey, str, Row]]":
        """Yield what came, what differs, and what went as it was; each row at the same moment."""
        for key, row in rows.items():
            before = self._rows.get(key)
            if before is None:
                yield key, ADDED, row
            elif self._differs(key, replace(before, now=now), row):
                yield key, MODIFIED, row
        for key in self._rows.keys() - rows.keys():
            yield key, DELETED, replace(self._rows[key], now=now)

    def _differs(self, key: "ObjectKey", before: "Row", after: "Row") -> bool:
        """Return whether what is printed of an object changed."""
        if self.query.output in ("yaml", "json", "name"):
            return before.body != after.body
        table = self._tables[key.group, key.kind]
        return table.cells(key, before) != table.cells(key, after)

    def _print_rows(self, changed: "Sequence[tuple[ObjectKey, str, Row]]") -> None:
        """Print rows below the table of their kind; the first ones set its widths."""
        kinds: dict[Kind, list[list[str]]] = {}
        for key, event, row in changed:
            mark = [event] if self.events else []
            cells = self._tables[key.group, key.kind].cells(key, row)
            kinds.setdefault((key.group, key.kind), []).append([*mark, *cells])
        for kind, lines in kinds.items():
            if kind in self._widths:
                for line in lines:
                    click.echo(aligned_line(line, self._widths[kind]))
                continue
            titles = [*(["EVENT"] if self.events else []), *self._tables[kind].titles]
            headers = not self.query.no_headers
            if self._widths:
                click.echo()
            self._widths[kind] = widths_of([titles, *lines] if headers else lines)
            for text in table_lines(titles, lines, headers=headers):
                click.echo(text)


def _is_same(world: "World", before: "World", key: "ObjectKey") -> bool:
    """Return whether the files of an object are those of the world before."""
    return all(
        now.get(key) is then.get(key)
        for now, then in ((world.inputs, before.inputs), (world.outputs, before.outputs))
    )
