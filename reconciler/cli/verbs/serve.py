"""`reconciler serve`: the page of a branch, without the daemon."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import read_branch_option
from reconciler.cli.options.page_access import page_options


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
def command(directory: Path, /, **options: Any) -> int:
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
    from reconciler.cli.page.served_page import run

    return run(directory, **options)
