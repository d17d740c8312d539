"""`reconciler verify`: every decision of a history, computed again and compared."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import output_option
from reconciler.cli.options.workers import workers_options
from reconciler.cli.printing.verify_signatures import signature_options


@click.command(name="verify")
@click.argument("span", metavar="[RANGE]", shell_complete=complete.revisions, required=False)
@output_option("text", "json", says="How to print what was found.")
@click.option("-v", "verbose", is_flag=True, help="Show each proven commit, too.")
@click.option("--afresh", is_flag=True, help="Prove what was proven before, too.")
@click.option(
    "--branch",
    metavar="NAME",
    help="The branch that RANGE is of: what was signed for another one is a finding.",
)
@signature_options
@workers_options
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Prove a history: compute each decision again from its inputs, compare byte for byte.

    RANGE is a revision (its whole history) or A..B; without one it is the history of HEAD.
    Commits that people made are proven, too: they must leave the outputs alone. What was proven
    before by the same version is not proven again, so a long proof may be interrupted.

    \b
    Examples:
      reconciler verify
      reconciler verify v1.4..main
      reconciler verify main -o json
      reconciler verify v1.4..main --branch main --signatures --allowed-signers keys
      reconciler verify --executor dask://127.0.0.1:8786
    \b
    Exit codes: 0 all proven, 1 something is not as it must be, 2 no such RANGE.
    """
    from reconciler.cli.printing.history_proofs import run

    return run(directory, **options)
