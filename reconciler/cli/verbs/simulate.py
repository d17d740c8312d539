"""`reconciler simulate`: what if a cluster failed, a workload grew, a label changed?"""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.options import Moment, output_option
from reconciler.cli.options.workers import workers_options


@click.command(name="simulate")
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    default="HEAD",
    show_default=True,
    help="Begin here.",
)
@click.option(
    "--fail",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="It cannot be reached any more.",
)
@click.option(
    "--cordon",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="It takes no new workload; one that is there may grow.",
)
@click.option(
    "--remove",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="Its manifest is gone.",
)
@click.option(
    "--add",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The objects of this file are there, instead of those of the same names.",
)
@click.option("--scale", multiple=True, metavar="KIND/NAME=N", help="It wants N replicas.")
@click.option(
    "--set",
    "assign",
    multiple=True,
    metavar="KIND/NAME:/POINTER=VALUE",
    help="A field has another value: JSON, or else text; null removes it.",
)
@click.option(
    "--rebalance",
    multiple=True,
    metavar="OBJECT",
    shell_complete=complete.objects,
    help="It is scheduled afresh.",
)
@click.option("--fail-each", is_flag=True, help="Let each cluster fail by itself; rank them.")
@workers_options
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="When it happens  [default: the clock]"
)
@click.option(
    "--after",
    metavar="SECONDS",
    type=click.IntRange(min=0, max=365 * 86400),
    help="Decide so long after it happened  [default: 3600 if a cluster fails, else 0]",
)
@namespace_option
@output_option("text", "markdown", "json", "html", "svg")
@click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if something moves, 0 if nothing does."
)
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Show what would move if something happened; nothing is written anywhere.

    Any revision can be asked. Options may be repeated and combined. One pass is decided --after
    seconds past --now: a cluster that fails does so at --now, and tolerations run from there.
    --after by itself shows what time alone moves.

    \b
    Examples:
      reconciler simulate --fail member1
      reconciler simulate --after 3600
      reconciler simulate --cordon member1 --scale deployment/shop=20
      reconciler simulate --set cluster/member2:/metadata/labels/env=prod
      reconciler simulate --add new-cluster.yaml --rebalance deployment/shop -o json
      reconciler simulate --fail-each
      reconciler simulate --fail-each --executor dask://127.0.0.1:8786
    """
    from reconciler.cli.edits.simulation import run

    return run(directory, **options)
