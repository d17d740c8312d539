"""`reconciler api-resources`: every kind that is read, its names, and who writes it."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import at_option, output_option


@click.command(name="api-resources")
@output_option("table", "name", "json")
@click.option("--api-group", metavar="GROUP", help="Only kinds of this API group.")
@click.option("--namespaced", type=bool, help="Only kinds with a namespace, or only without.")
@click.option("--no-headers", is_flag=True, help="Leave out the first line.")
@at_option
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print every kind that is read, and in a repository the workloads that it has besides.

    Passes write the status of some kinds that people write, and other kinds whole; a person's edit
    of those is undone, or taken as the previous decision.

    \b
    Examples:
      reconciler api-resources
      reconciler api-resources --api-group policy.karmada.io
      reconciler api-resources --namespaced false -o name
    """
    from reconciler.cli.objects.kind_table import run

    return run(directory, **options)
