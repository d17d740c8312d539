"""`reconciler history`: the decisions about one object over time."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects.subject import about_object


@click.command(name="history")
@about_object("text", "json")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many at most; 0 shows all.",
)
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print what was decided about an object, the newest first, and whose commit caused it.

    OBJECT is kind/name; a workload stands for its binding. Every decision is computed again from
    its inputs. Where time alone was the cause, such as a toleration that ended, it says so.

    \b
    Examples:
      reconciler history deployment/shop
      reconciler history rb/shop-deployment -n default -o json
      reconciler history placement/reports --at v1.4
    """
    from reconciler.cli.printing.history import run

    return run(directory, **options)
