"""`reconciler version`."""

import click

from reconciler.cli.options.options import output_option
from reconciler.cli.printing.print_json import print_json
from reconciler.version import __version__


@click.command(name="version")
@output_option("text", "json")
def command(output: str) -> int:
    r"""Print the version.

    \b
    Example:
      reconciler version -o json
    """
    if output == "json":
        print_json({"version": __version__})
    else:
        click.echo(f"reconciler {__version__}")
    return 0
