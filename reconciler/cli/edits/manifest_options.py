"""Options of verbs that write a manifest of their own: what it is for, where it goes, how shown."""

from collections.abc import Callable

import click

from reconciler.cli.edits.delivery import delivery_options
from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.option_group import with_options
from reconciler.cli.options.options import output_option

base_option = click.option(
    "--base",
    metavar="REV",
    shell_complete=complete.revisions,
    envvar="RECONCILER_BRANCH",
    default="HEAD",
    show_default=True,
    help="Branch that is served: what is planned for, and where a new branch begins.",
)
"""What a manifest is written for."""


def manifest_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say what a manifest is written for, and where it goes."""
    options = (
        click.option(
            "--dry-run", is_flag=True, help="Print the manifest and the plan, write nothing."
        ),
        base_option,
        output_option("text", "yaml", "json", says="How to print it; yaml is the manifest alone."),
        delivery_options,
        layout_options,
    )
    return with_options(function, options)
