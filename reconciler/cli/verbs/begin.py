"""`reconciler demo`, `init`, `import` and `check`: the verbs by which a fleet begins.

`demo` shows the main job on a scratch repository, with the real daemon. `init` writes a new fleet
into a folder that may have files already. `import` writes what kubectl prints as files of the
repository. `check` tries what the daemon needs, before it is started.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.fleet_choice import APIS, CI, DELIVERIES
from reconciler.cli.import_source import import_options
from reconciler.cli.operation import operation_options
from reconciler.cli.options import output_option, runs, service_options
from reconciler.cli.trust import key_options

if TYPE_CHECKING:
    pass


@click.command(name="demo")
@click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where to create the repository  [default: a new temporary folder]",
)
def demo_command(folder: Path | None) -> int:
    r"""Walk through failover: a cluster fails and recovers, a rebalancer moves the work back.

    The demo ends with what runs on each cluster. The repository is kept for inspection.

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
    help="API of clusters and policies (repeatable)  [default: all]",
)
@click.option(
    "--examples/--no-examples",
    default=None,
    help="Write example clusters, policies and workloads  [default: if there are no manifests]",
)
@click.option(
    "--ci",
    type=click.Choice(CI),
    help="CI system to write pipelines for  [default: that of the remote origin, else both]",
)
@click.option(
    "--delivery",
    type=click.Choice([*DELIVERIES]),
    help="How decisions are delivered to clusters, set in reconciler.yaml  [default: none]",
)
@click.pass_obj
@runs("reconciler.cli.init")
def init_command() -> None:
    r"""Create the files of a new fleet in FOLDER (default: the current folder).

    FOLDER may be new or an existing checkout: existing files are reported and left unchanged. If
    there are manifests already, examples are written only with --examples. Nothing is committed;
    the README describes the next steps. On a terminal, without options, init asks questions.

    \b
    Examples:
      reconciler init fleet && cd fleet && git init && git add . && git commit -m "Start"
      reconciler init --api karmada --no-examples --ci gitlab --delivery flux
    \b
    Exit codes: 0 success, 1 cannot write, 2 FOLDER is not a folder.
    """


@click.command(name="import")
@import_options
@click.pass_obj
@runs("reconciler.cli.import_manifests")
def import_command() -> None:
    r"""Import objects from a live control plane, as kubectl prints them, into files.

    Clusters, policies, placements and scores are written to one file each, without server-generated
    fields. An object that already has a file is updated in place, keeping comments; without
    relevant changes nothing is written.

    \b
    Examples:
      kubectl get clusters.cluster.karmada.io -o json | reconciler import -
      reconciler import --context hub --dry-run
      reconciler import --context hub --adopt
      reconciler import --context hub --workloads deployments,services
      reconciler import --context member1 --cluster member1 --branch report-member1
      reconciler import --context hub --host-context host --check
    \b
    Exit codes: 0 success, 1 something could not be imported or written, or remains to be done
    (--check), 2 usage error.
    """


@click.command(name="check")
@service_options
@key_options
@operation_options
@output_option("text", "json")
@click.pass_obj
@runs("reconciler.cli.check")
def check_command() -> None:
    r"""Check the prerequisites of `reconciler run`, with the same options, and suggest fixes.

    No decisions are made and no branch is written; `reconciler validate` checks manifests.

    \b
    Examples:
      reconciler check
      reconciler check --remote git@git.example.org:platform/fleet.git --signing-key /etc/key
    \b
    Exit codes: 0 success, possibly with warnings, 1 a check failed, 2 usage error.
    """
