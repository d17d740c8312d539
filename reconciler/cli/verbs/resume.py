"""`reconciler resume`: let what was suspended be scheduled again."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.suspension import hold, holding_options


@click.command(name="resume")
@holding_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
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
