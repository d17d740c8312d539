"""`reconciler suspend`, and `reconciler resume`, which takes it back."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.suspension import hold, holding_options


@click.command(name="suspend")
@holding_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
    r"""Leave what an object governs where it is, until it is resumed.

    OBJECT is kind/name of a policy, a placement, a workload, or a rebalancer with a schedule. Its
    file is edited by a line or two and stays as it is otherwise: in the checkout, uncommitted, or
    with --branch on a new branch. It takes effect once it is merged.

    \b
    Examples:
      reconciler suspend pp/shop
      reconciler suspend deployment/shop --branch hold-shop
      reconciler suspend --all
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object.
    """
    return hold(directory, suspend=True, **asked)


@click.command(name="resume")
@holding_options
@click.pass_obj
def resume(directory: Path, /, **asked: Any) -> int:
    r"""Let an object that was suspended be scheduled again.

    OBJECT is kind/name, as for suspend; the line by which it was suspended is taken out of its
    file. It takes effect once it is merged.

    \b
    Examples:
      reconciler resume pp/shop
      reconciler resume deployment/shop --branch go-on
      reconciler resume --all
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object.
    """
    return hold(directory, suspend=False, **asked)
