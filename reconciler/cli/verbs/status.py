"""`reconciler status`: how a repository stands, on one screen."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import at_option, output_option


@click.command(name="status")
@output_option("text", "json")
@at_option
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print how a repository stands: its last pass, what is wrong, suspended, and coming.

    Faults are those of the files and, if nobody committed since, those that the last pass found.

    \b
    Examples:
      reconciler status
      reconciler status --at HEAD~5
      reconciler status -o json
    \b
    Exit codes: 0 told, whatever it is, 2 no such revision.
    """
    from reconciler.cli.printing.status import run

    return run(directory, **options)
