"""`reconciler scale`: another number of replicas in a person's file."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.object_edits import edit_options
from reconciler.cli.objects.object_selection import chosen_options

MOST = 2**31 - 1


@click.command(name="scale")
@chosen_options("OBJECT...|KIND")
@click.option(
    "--replicas",
    metavar="N",
    type=click.IntRange(0, MOST),
    required=True,
    help="How many replicas each is to have.",
)
@click.option(
    "--current-replicas",
    "current",
    metavar="N",
    type=click.IntRange(0, MOST),
    help="Only if it has so many now.",
)
@edit_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
    r"""Let workloads have N replicas: edit the line of their files, say what it would move.

    OBJECT is kind/name of a workload; -l or --all choose among those of a KIND. Its file stays as
    it is otherwise: in the checkout, uncommitted, or with --branch on a new branch. It takes effect
    once it is merged.

    \b
    Examples:
      reconciler scale deployment/shop --replicas=5
      reconciler scale deployment shop frontend --replicas=0 --dry-run
      reconciler scale deployment/shop --current-replicas=2 --replicas=5 --branch more-shop
      reconciler scale deploy -l team=web --replicas=0 --branch web-off
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object, or it has no replicas.
    """
    from reconciler.cli.edits.workload_edits import scale

    return scale(directory, **asked)
