"""The words of `scores` as AddOnPlacementScores: new files, and lines of existing ones.

The numbers of clusters come as a table, CSV with a head or YAML; each fault names its place.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.edits import Edit, EditOptions, NewObject, ObjectEdit, edit_objects
from reconciler.errors import UsageError, UserError
from reconciler.manifests.text.reader import read
from reconciler.model.identity import ObjectKey
from reconciler.model.text import is_subdomain, printable, shown

if TYPE_CHECKING:
    from reconciler.dialects.view import Scoring
    from reconciler.model.kinds import Kind
    from reconciler.model.world import World


FOLDER = "scores"

Scores = Mapping[str, Mapping[str, int]]
"""Cluster to name of a score to its value."""


def run(
    directory: Path,
    /,
    *,
    resource: str,
    table: str | None,
    free: Sequence[str],
    lower_is_better: Sequence[str],
    as_it_is: bool,
    valid_for: str | None,
    to: EditOptions,
) -> int:
    """Write scores; return the exit code."""
    if (table is None) == (not free):
        raise UsageError("give a table of values (--table), or free resources (--free)")
    if not is_subdomain(resource):
        raise UsageError(f"{shown(resource)} must be a name of Kubernetes: a-z, 0-9, - and .")
    columns = None if table is None else _columns(table)
    _check_columns(columns, lower_is_better, as_it_is=as_it_is)
    until = None if valid_for is None else _until(valid_for)

    def wanted(world: "World") -> list[Edit]:
        kinds, scoring = _scored(world)
        clusters = {one.key.name for kind in kinds for one in world.of_kind(*kind)}
        if columns is None:
            scores = _free_scores(world, kinds, free)
        else:
            unknown = sorted({name for one in columns.values() for name in one} - clusters)
            if unknown:
                raise UsageError(
                    f"there is no {_named(kinds)} {shown(unknown[0])}, which {table} has"
                )
            scores = _table_scores(str(table), columns, lower_is_better, as_it_is=as_it_is)
        for line in _lacking(clusters, scores):
            click.echo(printable(line), err=True)
        return [
            _edit(world, scoring, scoring.key_of(name, resource), scores[name], until)
            for name in sorted(scores)
        ]

    return edit_objects(directory, to, wanted, lambda _: f"Write the scores {resource}")


def _lacking(clusters: Iterable[str], scores: Scores) -> Iterator[str]:
    """Yield a line for each cluster that lacks some of the scores."""
    every = dict.fromkeys(name for one in scores.values() for name in one)
    for cluster in sorted(clusters):
        lacks = [name for name in every if name not in scores.get(cluster, {})]
        if lacks:
            names = ", ".join(lacks)
            yield f"{cluster} has no number for {names}: it keeps the score it has, 0 without one"


def _columns(table: str) -> "Columns":
    """Read a table that a person named."""
    from reconciler.manifests.text.raw import Oversized
    from reconciler.shell.reading.checked import read_file

    data = read_file(Path(), table)
    if isinstance(data, Oversized):
        raise UsageError(f"{table} is too large for a table of clusters")
    return read_table(table, data)


def _check_columns(
    columns: "Columns | None", lower_is_better: Sequence[str], *, as_it_is: bool
) -> None:
    """Refuse options that mean nothing here.

    Raises:
        UsageError: One does.
    """
    if columns is None and (lower_is_better or as_it_is):
        raise UsageError("--lower-is-better and --as-it-is require --table")
    if lower_is_better and as_it_is:
        raise UsageError("--as-it-is does not scale; omit --lower-is-better")
    for name in lower_is_better:
        if name not in (columns or {}):
            names = ", ".join(columns or {})
            raise UsageError(f"the table has no column {shown(name)}; it has {names}")


def _until(valid_for: str) -> str:
    """Return the moment until which scores are valid."""
    from reconciler.manifests.durations import parse_duration
    from reconciler.model.moments import add, format_moment
    from reconciler.shell.resources import SystemClock

    try:
        seconds = parse_duration(valid_for) // 10**9
    except UserError:
        seconds = 0
    if seconds <= 0:
        raise UsageError(f"--valid-for {shown(valid_for)} must be a time such as 24h or 90m")
    return format_moment(add(SystemClock().now(), timedelta(seconds=seconds)))


def _scored(world: "World") -> "tuple[tuple[Kind, ...], Scoring]":
    """Return the kinds of clusters that have scores, and how these are written."""
    from reconciler.audit.previews.edits import cluster_views
    from reconciler.core.dialects import CLUSTERS
    from reconciler.model.settings import settings_in

    views = cluster_views()
    scored = ((kind, view.clusters.scoring) for kind, view in views.items())
    own, scoring = next((kind, scoring) for kind, scoring in scored if scoring is not None)
    return CLUSTERS if settings_in(world).extends_scores else (own,), scoring


def _named(kinds: "Sequence[Kind]") -> str:
    """Return what clusters of some kinds are called."""
    return kinds[0][1] if len(kinds) == 1 else "cluster"


def _free_scores(world: "World", kinds: "Sequence[Kind]", resources: Sequence[str]) -> Scores:
    """Return what clusters of some kinds have left of resources; of one in two APIs the least."""
    from reconciler.audit.fleet.usage import free_shares, usage_of

    usages = [one for one in usage_of(world) if one.key[:2] in kinds]
    scores: dict[str, dict[str, int]] = {}
    for resource in resources:
        for key, share in free_shares(usages, resource).items():
            of_cluster = scores.setdefault(key.name, {})
            of_cluster[resource] = min(share, of_cluster.get(resource, share))
    if not scores:
        raise UsageError(f"no {_named(kinds)} tells how much {' or '.join(resources)} it has")
    return scores


def _table_scores(
    table: str, columns: "Columns", lower_is_better: Sequence[str], *, as_it_is: bool
) -> Scores:
    """Return the numbers of a table as scores."""
    from reconciler.audit.fleet.usage import as_they_are, scaled

    found: dict[str, dict[str, int]] = {}
    for column, numbers in columns.items():
        scores = (
            as_they_are(numbers)
            if as_it_is
            else scaled(numbers, lower_is_better=column in lower_is_better)
        )
        if isinstance(scores, str):
            raise UsageError(
                f"{table}: {shown(column)} of {shown(scores)} must be a whole number from -100 to "
                "100; without --as-it-is numbers are scaled to that"
            )
        for cluster, score in scores.items():
            found.setdefault(cluster, {})[column] = score
    return found


def _edit(
    world: "World", scoring: "Scoring", key: ObjectKey, scores: Mapping[str, int], until: str | None
) -> Edit:
    """Return what becomes of the scores of one cluster; those of other names stay."""
    present = world.inputs.get(key)
    if present is None:
        path = f"{FOLDER}/{key.name}/{key.namespace}.yaml"
        body = scoring.manifest(key, scores, until)
        return NewObject(key=key, path=path, body=body, becomes="scored")
    return ObjectEdit(
        key=key,
        steps=scoring.steps(present.body, scores, until),
        becomes="scored",
        is_already="has these scores already",
    )


CLUSTER = "cluster"
NUMBER = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})", re.ASCII)

Columns = Mapping[str, Mapping[str, Fraction]]
"""Name of a column to cluster to number, each in the order of the table."""


def read_table(path: str, data: bytes) -> Columns:
    """Return the numbers of a table; a cluster without a number in a column is not in it.

    Args:
        path: As people named it; one that ends in `.csv` is CSV, any other is YAML.
        data: Its content.

    Raises:
        UsageError: It is no such table; one sentence with file and line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} must be UTF-8; byte {error.start} is none") from None
    cells = _csv_cells(path, text) if path.endswith(".csv") else _yaml_cells(path, data)
    columns: dict[str, dict[str, Fraction]] = {}
    for at, cluster, column, written in cells:
        known = columns.setdefault(column, {})
        if cluster in known:
            raise UsageError(f"{at}: {shown(cluster)} has a number in {shown(column)} already")
        if NUMBER.fullmatch(written) is None:
            raise UsageError(f"{at}: {shown(written)} in {shown(column)} must be a plain number")
        known[cluster] = Fraction(written)
    if not columns:
        raise UsageError(f"{path} holds no number; write a line for each cluster")
    return columns


def _csv_cells(path: str, text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield place, cluster, column and what is written there, for each cell that is not empty."""
    reader = csv.reader(text.splitlines(), strict=True, skipinitialspace=True)
    try:
        head = [name.strip() for name in next(reader, [])]
        if head[:1] != [CLUSTER] or head[1:] == [] or len({*head, ""}) != len(head) + 1:
            raise UsageError(
                f"{path}:1: the head must be {CLUSTER}, and then a name for each column of numbers"
            )
        for row in reader:
            at = f"{path}:{reader.line_num}"
            if any(cell.strip() for cell in row):
                yield from _row_cells(at, head, [cell.strip() for cell in row])
    except csv.Error:
        wrong = "a quote is not closed or stands within a cell, or a cell is too long"
        raise UsageError(f"{path}:{reader.line_num}: {wrong}") from None


def _row_cells(at: str, head: list[str], row: list[str]) -> Iterator[tuple[str, str, str, str]]:
    if len(row) > len(head) or not row[0]:
        raise UsageError(f"{at}: a row must have a cluster, and at most {len(head) - 1} numbers")
    for column, written in zip(head[1:], row[1:], strict=False):
        if written:
            yield at, row[0], column, written


def _yaml_cells(path: str, data: bytes) -> Iterator[tuple[str, str, str, str]]:
    """Yield the same for `CLUSTER: {COLUMN: NUMBER}`."""
    documents = read(data, path)
    if documents.faults:
        fault = documents.faults[0].fault
        raise UsageError(f"{path}:{fault.line}: {fault.message}")
    if len(documents.documents) != 1:
        raise UsageError(f"{path} must be one mapping of clusters to their numbers")
    (document,) = documents.documents
    for cluster, numbers in document.body.items():
        if not isinstance(numbers, Mapping):
            raise UsageError(
                f"{path}: {shown(cluster)} must have its numbers by name, such as {{price: 1.5}}"
            )
        for column, number in numbers.items():
            plain = isinstance(number, int | float | str) and not isinstance(number, bool)
            yield path, cluster, str(column), str(number) if plain else repr(number)
