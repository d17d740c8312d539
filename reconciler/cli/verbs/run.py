"""`reconciler run`: the daemon."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.operation import operation_options
from reconciler.cli.options.options import service_options
from reconciler.cli.options.roots import root_options
from reconciler.cli.options.settings import ReloadingCommand, pass_renewal, take_settings
from reconciler.cli.options.trust import key_options


@click.command(name="run", cls=ReloadingCommand)
@click.option(
    "--settings",
    metavar="FILE",
    envvar="RECONCILER_SETTINGS",
    type=click.Path(path_type=Path),
    is_eager=True,
    callback=take_settings,
    help="YAML with any of these options, such as poll-seconds: 60; read again when it changes.",
)
@service_options
@key_options
@root_options
@click.option(
    "--poll-seconds",
    type=click.FloatRange(min=0.1),
    envvar="RECONCILER_POLL_SECONDS",
    help="Look at least this often  [default: 5 for a checkout, 60 for a remote]",
)
@click.option(
    "--log-format",
    type=click.Choice(["auto", "text", "json"]),
    default="auto",
    show_default=True,
    envvar="RECONCILER_LOG_FORMAT",
    help="How to log; auto is text on a terminal and json elsewhere.",
)
@operation_options
@pass_renewal
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Serve a branch: a pass whenever it moves or a moment comes, until SIGTERM, SIGHUP or Ctrl-C.

    \b
    Examples:
      reconciler run
      reconciler run --remote git@git.example.org:platform/fleet.git --branch main
      reconciler run --listen 9440 --webhook-secret-file /etc/reconciler/hook
      reconciler run --root teams/a --root teams/b
      reconciler run --remote URL --roots 'teams/*' --executor dask://127.0.0.1:8786
    """
    from reconciler.cli.daemon.process import run

    return run(directory, **options)
