"""`reconciler reconcile`: one pass."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.options import Moment, service_options
from reconciler.cli.options.trust import key_options


@click.command(name="reconcile")
@service_options
@key_options
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as at this moment  [default: the clock]"
)
@click.option("--dry-run", is_flag=True, help="Decide and print, commit nothing.")
@click.option(
    "--no-push",
    is_flag=True,
    help="With --remote: commit in the mirror only, and print the commit. A checkout never pushes.",
)
@click.option("-v", "verbose", is_flag=True, help="Print every decision and file, however many.")
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Run one pass: read the branch, decide, commit, move the branch.

    \b
    Examples:
      reconciler reconcile --dry-run
      reconciler reconcile --now 2026-01-02T15:04:05Z
      reconciler reconcile --remote https://git.example.org/fleet.git
    """
    from reconciler.cli.daemon.single_pass import run

    return run(directory, **options)
