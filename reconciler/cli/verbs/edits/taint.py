"""`reconciler taint`: taints in the files of clusters."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.object_edits import edit_options
from reconciler.cli.objects import complete


@click.command(name="taint")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="CLUSTER... KEY[=VALUE]:EFFECT|KEY[:EFFECT]-...",
    shell_complete=complete.objects,
)
@click.option("--overwrite", is_flag=True, help="Let a taint that is there get another value.")
@edit_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
    r"""Set taints of clusters, or with a minus behind them remove them, and say what would move.

    CLUSTER is kind/name, or as in kubectl a kind and names. The effects are those of its API, each
    of which means something else: see docs/operations.md. Its file stays as it is otherwise: in the
    checkout, uncommitted, or with --branch on a new branch. It takes effect once it is merged.

    \b
    Examples:
      reconciler taint cluster member1 repair=disk:NoExecute
      reconciler taint cluster/member1 repair=disk:NoSchedule --overwrite --dry-run
      reconciler taint managedcluster edge1 edge2 repair:NoSelect
      reconciler taint cluster member1 repair:NoExecute-
      reconciler taint cluster member1 repair- --branch repaired
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such cluster, effect or taint.
    """
    from reconciler.cli.edits.cluster_edits import taint

    return taint(directory, **asked)
