"""The kinds that are read, as a table or for machines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.cli.kinds import NamedKind, merged, present_kinds, read_kinds
from reconciler.cli.printing import print_json
from reconciler.cli.tables import print_table
from reconciler.cli.world import load_world
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout


class KindJson(TypedDict):
    """A kind that is read."""

    name: Annotated[str, "Plural in lower case, as `get` takes it."]
    shortNames: Annotated[list[str], "As `get` takes them, too."]
    apiVersion: Annotated[str, "The preferred one of those that are read."]
    group: Annotated[str, '`""` for the core group.']
    kind: Annotated[str, "As upstream spells it."]
    namespaced: Annotated[bool, "Its scope."]
    writtenBy: Annotated[
        str,
        "`people`, `people, status by passes`, `passes`, or `people, not read` of a kind that "
        "controls nothing here.",
    ]


class ApiResourcesJson(TypedDict):
    """The kinds that are read."""

    kinds: Annotated[list[KindJson], "Those that are read, and the workloads of the repository."]


def run(
    directory: Path,
    *,
    output: str,
    api_group: str | None,
    namespaced: bool | None,
    no_headers: bool,
    at: str,
    layout: RepositoryLayout,
) -> int:
    """Print the kinds."""
    kinds = [
        kind
        for kind in _kinds(directory, at, layout)
        if api_group in (None, kind.id[0]) and namespaced in (None, kind.namespaced)
    ]
    if output == "json":
        answer: ApiResourcesJson = {"kinds": [_as_json(kind) for kind in kinds]}
        print_json(answer)
    elif output == "name":
        for kind in kinds:
            click.echo(kind.full_name)
    elif kinds:
        titles = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "WRITTEN BY"]
        print_table(titles, [_row(kind) for kind in kinds], headers=not no_headers)
    else:
        click.echo("there is no such kind", err=True)
    return 0


def _kinds(directory: Path, at: str, layout: RepositoryLayout) -> Sequence[NamedKind]:
    """Return the kinds that are read, and those of the repository if there is one."""
    try:
        world = load_world(directory, at, layout)
    except UsageError:
        if at != "HEAD":
            raise
        return read_kinds()  # outside of a repository, or without any commit yet
    return merged(read_kinds(), present_kinds(world))


def _row(one: NamedKind) -> list[str]:
    namespaced = str(one.namespaced).lower()
    return [one.name, one.short_names, one.api_version, namespaced, one.id[1], one.writer]


def _as_json(one: NamedKind) -> KindJson:
    return {
        "name": one.name,
        "shortNames": list(one.short),
        "apiVersion": one.api_version,
        "group": one.id[0],
        "kind": one.id[1],
        "namespaced": one.namespaced,
        "writtenBy": one.writer,
    }
