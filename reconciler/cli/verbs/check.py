"""`reconciler check`: what the daemon needs, tried before it is started."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.options.operation import operation_options
from reconciler.cli.options.options import output_option, service_options
from reconciler.cli.options.trust import key_options


@click.command(name="check")
@service_options
@key_options
@operation_options
@output_option("text", "json")
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Try what `reconciler run` needs, with the same options, and say what to do.

    Nothing is decided and nothing written to a branch; `reconciler validate` checks manifests.

    \b
    Examples:
      reconciler check
      reconciler check --remote git@git.example.org:platform/fleet.git --signing-key /etc/key
    \b
    Exit codes: 0 all well or warnings, 1 something failed, 2 wrong usage.
    """
    from reconciler.cli.daemon.checks import run

    return run(directory, **options)
