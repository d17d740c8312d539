"""`reconciler demo`, `init`, `import` and `check`: the verbs by which a fleet begins.

`demo` shows the main job on a scratch repository, with the real daemon. `init` writes a new fleet
into a folder that may have files already. `import` writes what kubectl prints as files of the
repository. `check` tries what the daemon needs, before it is started.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.fleet_choice import APIS, CI, DELIVERIES
from reconciler.cli.import_source import ImportOptions, import_options
from reconciler.cli.operation import operation_options
from reconciler.cli.options import output_option, service_options
from reconciler.cli.trust import key_options

if TYPE_CHECKING:
    from reconciler.cli.operation import Operation
    from reconciler.cli.options import Service
    from reconciler.cli.trust import Keys


@click.command(name="demo")
@click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the repository is made  [default: a new folder for temporary files]",
)
def demo_command(folder: Path | None) -> int:
    r"""Show the main job: a cluster fails, work moves; it recovers, a rebalancer moves it back.

    It ends with what runs on each cluster. The repository is left for you to look at.

    \b
    Example:
      reconciler demo --folder /tmp/fleet
    """
    from reconciler.cli.demo import run_story

    run_story(folder, say=click.echo, heading=lambda text: click.echo(click.style(text, bold=True)))
    return 0


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
def init_command(
    directory: Path | None,
    /,
    *,
    folder: Path,
    apis: tuple[str, ...],
    examples: bool | None,
    ci: str | None,
    delivery: str | None,
) -> int:
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
    from reconciler.cli.init import run

    return run(directory, folder=folder, apis=apis, examples=examples, ci=ci, delivery=delivery)


@click.command(name="import")
@import_options
@click.pass_obj
def import_command(directory: Path, /, *, asked: ImportOptions) -> int:
    r"""Write what kubectl prints of a live control plane into the files that are read here.

    Clusters, policies, placements and scores get a file each, with nothing that a server made. An
    object that has a file is brought up to date there, comments kept; nothing is written if nothing
    that counts has changed.

    \b
    Examples:
      kubectl get clusters.cluster.karmada.io -o json | reconciler import -
      reconciler import --context hub --dry-run
      reconciler import --context hub --adopt
      reconciler import --context hub --workloads deployments,services
      reconciler import --context member1 --cluster member1 --branch report-member1
      reconciler import --context hub --host-context host --check
    \b
    Exit codes: 0 done, 1 something could not be imported or written, or is not done yet (--check),
    2 wrong usage.
    """
    from reconciler.cli.import_manifests import run

    return run(directory, asked)


@click.command(name="check")
@service_options
@key_options
@operation_options
@output_option("text", "json")
@click.pass_obj
def check_command(
    directory: Path, /, *, service: "Service", keys: "Keys", operation: "Operation", output: str
) -> int:
    r"""Try what `reconciler run` needs, with the same options, and say what to do.

    Nothing is decided and nothing written to a branch; `reconciler validate` checks manifests.

    \b
    Examples:
      reconciler check
      reconciler check --remote git@git.example.org:platform/fleet.git --signing-key /etc/key
    \b
    Exit codes: 0 all well or warnings, 1 something failed, 2 wrong usage.
    """
    from reconciler.cli.check import run

    return run(directory, service=service, keys=keys, operation=operation, output=output)
