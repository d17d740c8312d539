"""`reconciler reconcile`, `run` and `serve`: a pass, the daemon, the page without a daemon."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.operation import operation_options, page_options, root_options
from reconciler.cli.options import Moment, layout_options, read_branch_option, service_options
from reconciler.cli.settings import ReloadingCommand, pass_renewal, take_settings
from reconciler.cli.trust import key_options

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.cli.operation import Operation, PageOptions, RootOptions
    from reconciler.cli.options import Service
    from reconciler.cli.settings import Renewal
    from reconciler.cli.trust import Keys
    from reconciler.model.identity import RepositoryLayout


@click.command(name="reconcile")
@service_options
@key_options
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as at this moment  [default: the clock]"
)
@click.option("--dry-run", is_flag=True, help="Decide and print, commit nothing.")
@click.option(
    "--no-push",
    is_flag=True,
    help="With --remote: commit in the mirror only, and print the commit. A checkout never pushes.",
)
@click.option("-v", "verbose", is_flag=True, help="Print every decision and file, however many.")
@click.pass_obj
def reconcile_command(
    directory: Path,
    /,
    *,
    service: "Service",
    keys: "Keys",
    now: "datetime | None",
    dry_run: bool,
    no_push: bool,
    verbose: bool,
) -> int:
    r"""Run one pass: read the branch, decide, commit, move the branch.

    \b
    Examples:
      reconciler reconcile --dry-run
      reconciler reconcile --now 2026-01-02T15:04:05Z
      reconciler reconcile --remote https://git.example.org/fleet.git
    """
    from reconciler.cli.reconcile import run

    return run(
        directory,
        service=service,
        keys=keys,
        now=now,
        dry_run=dry_run,
        no_push=no_push,
        verbose=verbose,
    )


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
def run_command(
    directory: Path,
    /,
    *,
    settings: Path | None,
    service: "Service",
    keys: "Keys",
    operation: "Operation",
    served_roots: "RootOptions",
    poll_seconds: float | None,
    log_format: str,
    renewal: "Renewal",
) -> int:
    r"""Serve a branch: a pass whenever it moves or a moment comes, until SIGTERM, SIGHUP or Ctrl-C.

    \b
    Examples:
      reconciler run
      reconciler run --remote git@git.example.org:platform/fleet.git --branch main
      reconciler run --listen 9440 --webhook-secret-file /etc/reconciler/hook
      reconciler run --root teams/a --root teams/b
      reconciler run --remote URL --roots 'teams/*' --executor dask://127.0.0.1:8786
    """
    from reconciler.cli.daemon import run

    return run(
        directory,
        settings=settings,
        service=service,
        keys=keys,
        operation=operation,
        served_roots=served_roots,
        poll_seconds=poll_seconds,
        log_format=log_format,
        renewal=renewal,
    )


@click.command(name="serve")
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    envvar="RECONCILER_LISTEN",
    default="8080",
    show_default=True,
    help="Where; a port alone is on 127.0.0.1, any other takes a token or a trusted proxy.",
)
@page_options
@read_branch_option
@layout_options
@click.pass_obj
def serve_command(
    directory: Path,
    /,
    *,
    listen: str,
    page: "PageOptions",
    branch: str | None,
    layout: "RepositoryLayout",
) -> int:
    r"""Serve the page of a branch until Ctrl-C: where everything runs, what moved, why, what comes.

    It only reads, and follows the branch as somebody else's passes move it. `reconciler run
    --listen` has the same page.

    \b
    Examples:
      reconciler serve
      reconciler serve --listen 9000 --branch production
      reconciler serve --listen 0.0.0.0:9000 --page-token-file /etc/reconciler/page
      reconciler serve --listen 0.0.0.0:9000 --page-user-header X-Forwarded-User \\
        --page-trusted-proxy 10.1.0.0/24
    \b
    Exit codes: 0 stopped, 1 it cannot listen, 2 no such branch, an address without token or proxy.
    """
    from reconciler.cli.serve import run

    return run(directory, listen=listen, page=page, branch=branch, layout=layout)
