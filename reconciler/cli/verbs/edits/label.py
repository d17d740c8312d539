"""`reconciler label`: labels in a person's file."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.object_edits import edit_options
from reconciler.cli.objects.object_selection import chosen_options


@click.command(name="label")
@chosen_options("OBJECT...|KIND KEY=VALUE|KEY-...")
@click.option("--overwrite", is_flag=True, help="Let a label that is there get another value.")
@edit_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
    r"""Set labels of objects, or with KEY- remove them, and say what it would move.

    OBJECT is kind/name of what people wrote: a workload, a cluster, a policy; -l or --all choose
    among those of a KIND. Its file stays as it is otherwise: in the checkout, uncommitted, or with
    --branch on a new branch. It takes effect once it is merged.

    \b
    Examples:
      reconciler label deployment/shop tier=gold
      reconciler label cluster member1 member2 region=north --overwrite
      reconciler label cluster/member1 tier- --branch untier
      reconciler label deploy -l app=shop tier=gold
      reconciler label clusters --all fleet=eu --dry-run
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object, or it has another value.
    """
    from reconciler.cli.edits.workload_edits import label

    return label(directory, **asked)
