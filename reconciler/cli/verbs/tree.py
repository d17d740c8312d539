"""`reconciler tree`: what hangs on a policy or a placement, down to the clusters."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects.subject import about_object


@click.command(name="tree")
@about_object("text", "json", metavar="POLICY")
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print what hangs on a policy or a placement, down to what each cluster has of it.

    POLICY is kind/name of a policy or a placement; a workload or a binding shows its clusters, and
    below each what is delivered there, what it reports, and what it waits for. A workload that
    placements of other APIs carry along has their trees, too. What time alone will move of it is
    told below.

    \b
    Examples:
      reconciler tree pp/shop
      reconciler tree placement/reports -o json
      reconciler tree crp/tools --at HEAD~5
    \b
    Exit codes: 0 told, 1 nothing is placed, 2 no such object or revision.
    """
    from reconciler.cli.printing.tree import run

    return run(directory, **options)
