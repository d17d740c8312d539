"""`reconciler render`: the manifests that an object comes to on its clusters."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects.subject import about_object

CARRIERS = click.option(
    "--carriers", is_flag=True, help="Print the Works that carry the manifests, with them."
)


@click.command(name="render")
@about_object("yaml", "json", behind="cluster")
@CARRIERS
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print what an object comes to on its clusters, or on one: replicas, overrides and all.

    It is what delivery writes, whether anything is delivered or not. The decision is the one that
    stands at the revision; values of Secrets are hidden. -o json prints a List, as kubectl does.

    \b
    Examples:
      reconciler render deployment/shop
      reconciler render deployment/shop member1 | kubectl diff -f -
      reconciler render crp/tools --carriers -o json
    \b
    Exit codes: 0 told, 1 something cannot be rendered, or nothing is placed, 2 no such object,
    cluster or revision.
    """
    from reconciler.cli.printing.rendered import run

    return run(directory, **options)
