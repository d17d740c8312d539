"""The option that says in which namespace an object is."""

from collections.abc import Callable

import click

from reconciler.cli.objects import complete
from reconciler.manifests.scope import DEFAULT_NAMESPACE


def namespace_option(function: Callable[..., int]) -> Callable[..., int]:
    """Add `-n`, as kubectl has it."""
    return click.option(
        "-n",
        "--namespace",
        metavar="NS",
        default=DEFAULT_NAMESPACE,
        show_default=True,
        shell_complete=complete.namespaces,
    )(function)
