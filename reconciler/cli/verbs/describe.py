"""`reconciler describe`: all that is known of one object, on one page."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects.object_words import object_argument
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.options import at_option


@click.command(name="describe")
@object_argument()
@namespace_option
@at_option
@click.option(
    "--show-events/--hide-events",
    "events",
    default=True,
    show_default=True,
    help="Whether the newest events are printed.",
)
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print an object as kubectl describes one: labels, fields, conditions, decision, events.

    OBJECT is kind/name, or kind name. The decision and the events of a workload are those of its
    binding. Values of Secrets are hidden.

    \b
    Examples:
      reconciler describe deployment shop
      reconciler describe rb/shop-deployment
      reconciler describe mcl edge1 --at HEAD~5
    \b
    Exit codes: 0 told, 1 it is not there, 2 no such kind or revision.
    """
    from reconciler.cli.objects.described import run

    return run(directory, **options)
