"""`reconciler status`: how a repository stands, on one screen."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import at_option, output_option
from reconciler.cli.options.remote_access import RemoteAccess, access_options
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout


@click.command(name="status")
@output_option("text", "json")
@at_option
@click.option(
    "--remote",
    metavar="URL",
    help="Ask a branch of this remote, fetched into a mirror of its own, instead of a checkout.",
)
@click.option(
    "--branch",
    metavar="NAME",
    help="With --remote: which branch  [default: main]",
)
@access_options
@layout_options
@click.pass_obj
def command(
    directory: Path,
    /,
    *,
    remote: str | None,
    branch: str | None,
    access: RemoteAccess,
    at: str,
    layout: RepositoryLayout,
    **options: Any,
) -> int:
    r"""Print how a repository stands: its last pass, what is wrong, suspended, and coming.

    Faults are those of the files and, if nobody committed since, those that the last pass found.

    \b
    Examples:
      reconciler status
      reconciler status --at HEAD~5
      reconciler status -o json
      reconciler status --remote https://git.example.org/fleet.git --credential-file /etc/token
    \b
    Exit codes: 0 told, whatever it is, 1 the remote does not answer, 2 no such revision or branch.
    """
    from reconciler.cli.objects.remote_fleet import open_remote
    from reconciler.cli.objects.world import open_fleet
    from reconciler.cli.printing.status import StatusQuestion, run

    if remote is None and branch is not None:
        raise UsageError("--branch goes with --remote; --at names a branch that is here")
    if remote is None:
        root = str(directory.resolve())
        return run(open_fleet(directory, layout), StatusQuestion(root, at), directory, **options)
    with open_remote(remote, branch, access, layout) as found:
        revision = f"{found.head}{at.removeprefix('HEAD')}" if at.startswith("HEAD") else at
        asked = StatusQuestion(found.url, revision, found.branch)
        return run(found.fleet, asked, None, **options)
