"""`reconciler events`: what upstream's controllers would have recorded, told from commits."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.objects.object_words import object_argument
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.options import output_option, poll_option, read_branch_option


@click.command(name="events")
@object_argument(required=False)
@namespace_option
@output_option("text", "wide", "json", says="How to print them; with --watch json is one a line.")
@click.option("-w", "--watch", is_flag=True, help="Go on with what the branch brings.")
@click.option(
    "--since",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Only commits after this revision.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="How many at most, the newest; 0 shows all.",
)
@click.option("--warnings", is_flag=True, help="Only what is of type Warning.")
@read_branch_option
@poll_option
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print events as upstream's controllers record them, the newest last.

    They are told from the commits of passes: what each changed in the outputs. OBJECT is kind/name;
    a workload stands for its binding, a rebalancer, a trigger or a staged update run for itself.
    Edits of outputs by hand are told, too. What passes will do by themselves is told below, but
    with --watch or --since. -o wide adds which controller records it upstream.

    \b
    Examples:
      reconciler events
      reconciler events deployment/shop --since HEAD~20
      reconciler events --watch --warnings -o json
    \b
    Exit codes: 0 told, 1 the history cannot be read, 2 no such object or revision, 130 interrupted.
    """
    from reconciler.cli.objects.events import run

    return run(directory, **options)
