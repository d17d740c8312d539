"""The kinds of which a repository has objects, for `get` without any word."""

from collections import Counter
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.cli.objects.query import Query
    from reconciler.model.world import World


def print_kinds(world: "World", query: "Query") -> int:
    """Print each kind with how many objects it has; return the exit code."""
    from reconciler.audit.fleet.placed import present_in
    from reconciler.cli.objects.api_kinds import present_kinds
    from reconciler.cli.printing.table import print_table

    counts = Counter((key.group, key.kind) for key in present_in(world))
    listed = present_kinds(world)
    if query.output == "name":
        for one in listed:
            click.echo(one.full_name)
        return 0
    rows = [[one.name, one.short_names, one.api_version, str(counts[one.id])] for one in listed]
    if rows:
        titles = ["NAME", "SHORTNAMES", "APIVERSION", "OBJECTS"]
        print_table(titles, rows, headers=not query.no_headers)
        hint = "name a kind, such as reconciler get " + min((one.word for one in listed), key=len)
    else:
        hint = "there is no object here"
    click.echo(f"{hint}; reconciler api-resources lists all that can be read", err=True)
    return 0
