"""`reconciler report`: the fleet as one page that needs nothing else, or its moves as a picture."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options


@click.command(name="report")
@click.option(
    "-o",
    "output",
    metavar="FILE.html|svg",
    required=True,
    help="The file to write, - for standard output; svg draws the moves there, of --plan or of "
    "the last pass.",
)
@click.option(
    "--rev",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete.revisions,
    help="As at a revision.",
)
@click.option(
    "--plan",
    "branch",
    metavar="BRANCH",
    shell_complete=complete.branches,
    help="Begin with what merging this branch would move.",
)
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Write the views of `serve` as one file: it can be sent along, and read offline.

    It loads nothing from anywhere, and says so to the browser; its one script moves the slider.

    \b
    Examples:
      reconciler report -o fleet.html
      reconciler report -o fleet.html --rev v1.4
      reconciler report -o review.html --plan feature
      reconciler report -o svg --plan feature > moves.svg
    \b
    Exit codes: 0 written, 1 the file cannot be written, 2 no such revision.
    """
    from reconciler.cli.page.fleet_report import run

    return run(directory, **options)
