"""`reconciler approve`: write what approves a stage of a staged update run."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.manifest_options import manifest_options
from reconciler.cli.objects import complete
from reconciler.cli.options.namespace_option import namespace_option


@click.command(name="approve")
@click.argument("word", metavar="RUN", shell_complete=complete.objects)
@click.argument("stage", metavar="[STAGE]", required=False)
@click.option("-m", "--message", metavar="TEXT", help="Why, for whoever reads it later.")
@namespace_option
@manifest_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Let a staged update run go on: write what approves its stage, and say what it would move.

    RUN is a name or kind/name. Without STAGE it is what the run asks for now; a STAGE may be
    approved in advance. The manifest goes to approvals/ in the checkout, uncommitted, or with
    --branch onto a new branch; merging it approves. It names this very run: another one of the same
    name is not approved by it.

    \b
    Examples:
      reconciler approve shop-v2
      reconciler approve shop-v2 prod -m 'canary is quiet' --branch approve-prod
      reconciler approve stagedupdaterun/nightly -n team-a --dry-run
    \b
    Exit codes: 0 done or approved before, 1 it cannot be written, 2 nothing of it is asked for.
    """
    from reconciler.cli.edits.approve import run

    return run(directory, **options)
