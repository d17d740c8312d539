"""`reconciler blame`: which commit put an object on each of its clusters."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects.subject import about_object


@click.command(name="blame")
@about_object("text", "json")
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print for each cluster of an object since when it is there, and whose commit put it there.

    OBJECT is kind/name; a workload stands for its binding.

    \b
    Examples:
      reconciler blame deployment/shop
      reconciler blame placement/reports -o json
    """
    from reconciler.cli.printing.blame import run

    return run(directory, **options)
