"""`reconciler top`: what clusters and quotas have, what is used of it, what is free."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import at_option, output_option

CLUSTERS, QUOTAS = ("clusters", "cluster"), ("quotas", "quota")
ORDERS = ("name", "replicas", "cpu", "memory")


@click.command(name="top")
@click.argument("what", metavar="clusters|quotas", type=click.Choice([*CLUSTERS, *QUOTAS]))
@output_option("text", "json")
@click.option(
    "--sort-by",
    type=click.Choice(ORDERS),
    default="name",
    show_default=True,
    help="Of clusters: replicas the most first, cpu and memory the least free first.",
)
@click.option("--no-headers", is_flag=True, help="Leave out the first line.")
@at_option
@layout_options
@click.pass_obj
def command(directory: Path, /, *, what: str, sort_by: str, **options: Any) -> int:
    r"""Print each cluster with its capacity, what is placed on it, and what is free; or each quota.

    What is used is what the replicas placed there ask for, or what the cluster reports as taken if
    that is more; used and free are together the capacity. Where more is used than there is, nothing
    is free, OVER has by how much, and the cluster is red on a terminal. A cluster that reports no
    capacity shows a dash. A cluster that several APIs declare under one name is one line: what is
    placed there by any of them counts together, and its room once.

    Of quotas it is what the last pass found: where they refuse, what all that is placed asks for,
    elsewhere what clusters report. One that stands above its limit is red on a terminal.

    \b
    Examples:
      reconciler top clusters
      reconciler top clusters --sort-by cpu
      reconciler top clusters --at HEAD~5 -o json
      reconciler top quotas
    """
    if what in QUOTAS:
        from reconciler.cli.printing.quotas import run as run_quotas

        if sort_by != "name":
            raise click.UsageError("--sort-by is for clusters; quotas come by namespace and name")
        return run_quotas(directory, **options)
    from reconciler.cli.printing.usage import run

    return run(directory, sort_by=sort_by, **options)
