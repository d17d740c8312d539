"""`reconciler blame`: which commit put an object on each of its clusters."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.history import (
    SHORT_ID,
    by_whom,
    commit_json,
    nothing_said,
)
from reconciler.cli.objects import namespace_option
from reconciler.cli.options import at_option, output_option, output_root_option

if TYPE_CHECKING:
    from reconciler.audit.journal import Blame


@click.command(name="blame")
@click.argument("word", metavar="OBJECT")
@namespace_option
@output_option("text", "json")
@at_option
@output_root_option
@click.pass_obj
def command(
    directory: Path, *, word: str, namespace: str, output: str, at: str, output_root: str
) -> int:
    r"""Print for each cluster of an object since when it is there, and whose commit put it there.

    OBJECT is kind/name; a workload stands for its binding.

    \b
    Examples:
      reconciler blame deployment/shop
      reconciler blame placement/reports -o json
    """
    from reconciler.audit.journal import tell_blame
    from reconciler.audit.placed import placed_on
    from reconciler.cli.subject import open_subject

    subject = open_subject(directory, word, namespace, at=at, output_root=output_root)
    found = tell_blame(subject.events(), placed_on(subject.world, subject.key))
    if output == "json":
        click.echo(json.dumps([_as_json(item) for item in found], indent=2, ensure_ascii=False))
    elif found:
        _print(found)
    if not found:
        click.echo(f"{nothing_said(subject.key, at)}, or it is on no cluster", err=True)
        return 1
    return 0


def _print(found: "list[Blame]") -> None:
    """Print a table, one cluster a row."""
    from reconciler.cli.table import print_table
    from reconciler.model.moments import format_moment

    rows = [
        [
            str(item.cluster),
            str(item.replicas or "-"),
            format_moment(item.event.at),
            item.event.commit.revision[:SHORT_ID],
            item.event.why,
            by_whom(item.event),
        ]
        for item in found
    ]
    print_table(["CLUSTER", "REPLICAS", "SINCE", "DECISION", "WHY", "BY"], rows)


def _as_json(item: "Blame") -> dict[str, object]:
    """Return one cluster for machines."""
    from reconciler.model.moments import format_moment

    return {
        "cluster": str(item.cluster),
        "replicas": item.replicas,
        "since": format_moment(item.event.at),
        "decision": item.event.commit.revision,
        "cause": item.event.why,
        "inputs": [commit_json(cause) for cause in item.event.causes],
    }
