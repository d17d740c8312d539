"""The words of `scores` as AddOnPlacementScores: new files, and lines of those that are there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.audit.printable import printable
from reconciler.cli.edits.file_edits import Edit, NewObject, ObjectEdit
from reconciler.cli.edits.object_edits import EditOptions, edit_objects
from reconciler.errors import UsageError, UserError
from reconciler.manifests.names import is_subdomain
from reconciler.model.identity import ObjectKey
from reconciler.model.message_text import shown

if TYPE_CHECKING:
    from reconciler.dialects.scoring import Scoring
    from reconciler.manifests.number_table import Columns
    from reconciler.model.known_kinds import Kind
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
    **options: Any,
) -> int:
    """Write scores; return the exit code."""
    if (table is None) == (not free):
        raise UsageError("name a table of numbers (--table), or what of clusters is free (--free)")
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

    to = EditOptions(**options)
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
    from reconciler.manifests.number_table import read_table
    from reconciler.manifests.text.limits import Oversized
    from reconciler.shell.reading.files import read_file

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
        raise UsageError("--lower-is-better and --as-it-is are about a --table")
    if lower_is_better and as_it_is:
        raise UsageError("--as-it-is scales nothing; leave out --lower-is-better")
    for name in lower_is_better:
        if name not in (columns or {}):
            known = ", ".join(columns or {})
            raise UsageError(f"the table has no column {shown(name)}; it has {known}")


def _until(valid_for: str) -> str:
    """Return the moment until which scores are valid."""
    from reconciler.manifests.durations import parse_duration
    from reconciler.model.moments import add, format_moment
    from reconciler.shell.clock import SystemClock

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
    from reconciler.model.settings import settings_in

    views = cluster_views()
    found = ((kind, view.scoring()) for kind, view in views.items())
    own, scoring = next((kind, scoring) for kind, scoring in found if scoring is not None)
    return tuple(views) if settings_in(world).extends_scores else (own,), scoring


def _named(kinds: "Sequence[Kind]") -> str:
    """Return what clusters of some kinds are called."""
    return kinds[0][1] if len(kinds) == 1 else "cluster"


def _free_scores(world: "World", kinds: "Sequence[Kind]", resources: Sequence[str]) -> Scores:
    """Return what clusters of some kinds have left of resources; of one in two APIs the least."""
    from reconciler.audit.fleet.score_scale import free_shares
    from reconciler.audit.fleet.usage import usage_of

    usages = [one for one in usage_of(world) if one.key[:2] in kinds]
    found: dict[str, dict[str, int]] = {}
    for resource in resources:
        for key, share in free_shares(usages, resource).items():
            known = found.setdefault(key.name, {})
            known[resource] = min(share, known.get(resource, share))
    if not found:
        raise UsageError(f"no {_named(kinds)} tells how much {' or '.join(resources)} it has")
    return found


def _table_scores(
    table: str, columns: "Columns", lower_is_better: Sequence[str], *, as_it_is: bool
) -> Scores:
    """Return the numbers of a table as scores."""
    from reconciler.audit.fleet.score_scale import as_they_are, scaled

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
