"""`reconciler wait`: until objects of a branch are as they are to be."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects.object_selection import chosen_options
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import output_option, poll_option, read_branch_option
from reconciler.cli.options.time_span import TimeSpan
from reconciler.cli.waiting.awaited_option import Awaited


@click.command(name="wait")
@chosen_options("KIND NAME... | KIND/NAME... | KIND")
@click.option(
    "--for",
    "awaited",
    metavar="STATE",
    type=Awaited(),
    required=True,
    help="condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete.",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    metavar="SPAN",
    type=TimeSpan(),
    default="30s",
    show_default=True,
    help="Longest wait, such as 90s or 5m; 0 looks once.",
)
@output_option("text", "name")
@read_branch_option
@poll_option
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Wait until each object was seen as it is to be: in the branch, as get -o yaml prints it.

    A condition and a value count once a pass has seen the newest commit: what a pass would change
    now is no answer yet. So a pipeline that pushes can wait for what comes of it.

    \b
    Examples:
      reconciler wait rb/shop-deployment --for=condition=Scheduled
      reconciler wait rb -l app=shop --for=condition=FullyApplied --timeout=5m
      reconciler wait crp shop --for=jsonpath='{.status.conditions[0].status}'=True
      reconciler wait workloadrebalancer/monday --for=jsonpath='{.status.finishTime}'
      reconciler wait rb/shop-deployment --for=create --timeout=2m
    \b
    Exit codes: 0 all are so, 1 not in time, or an object is not there, 2 no such kind or state,
    130 interrupted.
    """
    from reconciler.cli.waiting.wait import run

    return run(directory, **options)
