"""`reconciler version`."""

import click

from reconciler import __version__


@click.command(name="version")
@click.option(
    "-o",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
def command(output: str) -> None:
    r"""Print the version.

    \b
    Example:
      reconciler version -o json
    """
    if output == "json":
        click.echo(f'{{"version": "{__version__}"}}')
    else:
        click.echo(f"reconciler {__version__}")
