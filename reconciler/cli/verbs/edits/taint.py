"""`reconciler taint`: taints in the files of clusters."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.object_edits import edit_options
from reconciler.cli.objects import complete
from reconciler.cli.objects.object_selection import cluster_selector_option


@click.command(name="taint")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="CLUSTER...|KIND KEY[=VALUE]:EFFECT|KEY[:EFFECT]-...",
    shell_complete=complete.objects,
)
@cluster_selector_option
@click.option("--all", "every", is_flag=True, help="Take all clusters of the kind.")
@click.option("--overwrite", is_flag=True, help="Let a taint that is there get another value.")
@edit_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
    r"""Set taints of clusters, or with a minus behind them remove them, and say what would move.

    CLUSTER is kind/name, or as in kubectl a kind and names; -l or --all choose among those of a
    kind, "cluster" being those of all APIs. The effects are those of its API, each of which means
    something else: see docs/operations.md. Its file stays as it is otherwise: in the checkout,
    uncommitted, or with --branch on a new branch. It takes effect once it is merged.

    \b
    Examples:
      reconciler taint cluster member1 repair=disk:NoExecute
      reconciler taint cluster/member1 repair=disk:NoSchedule --overwrite --dry-run
      reconciler taint managedcluster edge1 edge2 repair:NoSelect
      reconciler taint cluster member1 repair:NoExecute-
      reconciler taint cluster member1 repair- --branch repaired
      reconciler taint cluster -l region=eu repair:NoSchedule --dry-run
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such cluster, effect or taint.
    """
    from reconciler.cli.edits.cluster_edits import taint

    return taint(directory, **asked)
