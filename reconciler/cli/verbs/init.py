"""`reconciler init`: a fleet of one's own, in a folder that may have files already."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.story.fleet_choice import APIS, CI, DELIVERIES


@click.command(name="init")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]")
@click.option(
    "--api",
    "apis",
    multiple=True,
    type=click.Choice([*APIS]),
    help="An API of clusters and policies; may be given again  [default: all]",
)
@click.option(
    "--examples/--no-examples",
    default=None,
    help="Write clusters, policies and workloads to play with  [default: where no manifest is]",
)
@click.option(
    "--ci",
    type=click.Choice(CI),
    help="Whose pipelines are written  [default: as the remote origin says, else both]",
)
@click.option(
    "--delivery",
    type=click.Choice([*DELIVERIES]),
    help="How decisions reach clusters, in reconciler.yaml  [default: none]",
)
@click.pass_obj
def command(directory: Path | None, /, **options: Any) -> int:
    r"""Write the files of a fleet into FOLDER, by default this one: the example, or a part of it.

    FOLDER may be new, or a checkout with files of yours: what is there is left alone, and said.
    Beside manifests no examples are written unless asked for. Nothing is committed; the README
    leads on from there. On a terminal, without any option, it asks.

    \b
    Examples:
      reconciler init fleet && cd fleet && git init && git add . && git commit -m "Start"
      reconciler init --api karmada --no-examples --ci gitlab --delivery flux
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 FOLDER is no folder.
    """
    from reconciler.cli.story.new_fleet import run

    return run(directory, **options)
