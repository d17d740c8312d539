"""`reconciler plan`: what merging a branch would move."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.fail_on import ForbiddenType
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import Moment, output_option


@click.command(name="plan")
@click.option(
    "--base",
    metavar="REV",
    shell_complete=complete.revisions,
    help="What is merged into  [default: --branch, else main, else origin/main]",
)
@click.option(
    "--branch",
    metavar="NAME",
    envvar="RECONCILER_BRANCH",
    shell_complete=complete.branches,
    help="Branch that the daemon serves.",
)
@click.option(
    "--head",
    metavar="REV",
    shell_complete=complete.revisions,
    help="What is merged  [default: the files of the checkout]",
)
@click.option("--worktree", is_flag=True, help="Merge the files of the checkout, committed or not.")
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as at this moment  [default: the clock]"
)
@output_option(
    "text",
    "markdown",
    "json",
    "html",
    "svg",
    says="How to print it; markdown (or md) fits one comment on a pull request, html is one page, "
    "svg draws the moves.",
)
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit with 0 if nothing changes, 2 if something does, 1 on any error.",
)
@click.option(
    "--fail-on",
    "conditions",
    metavar="CONDITION",
    type=ForbiddenType(),
    multiple=True,
    help="Exit with 3 if the plan has it: moves>N, unschedulable, removed, lazy; repeatable.",
)
@click.option(
    "--manifests", is_flag=True, help="Print how the manifests of each cluster change, too."
)
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Show what merging would move: from where to where, and why; no cluster is asked.

    The base is the branch that the daemon serves; what is merged are the files of this checkout,
    committed or not, or --head. The merge is tried aside, nothing in the repository changes.

    \b
    Examples:
      reconciler plan                              what would merging this branch move?
      reconciler plan --head feature -o markdown   the same as a pull-request comment
      reconciler plan --base HEAD --worktree       what would my uncommitted edits move?
      reconciler plan --fail-on 'moves>10' --fail-on removed
      reconciler plan --manifests                  what would change on each cluster?
    \b
    With --fail-on a move is a replica that leaves one cluster for another, or an object without
    replicas that does; what only starts, grows, shrinks or ends is none. An object that no
    cluster can take is unschedulable, one that is on no cluster afterwards is removed. A policy
    that is newly Lazy and places workloads that had no binding is lazy.
    \b
    Exit codes: 0 told, 1 the branches cannot be merged or read, 2 wrong usage, 3 a condition of
    --fail-on is met, whatever else; see --detailed-exitcode.
    """
    from reconciler.cli.printing.plan import run

    return run(directory, **options)
