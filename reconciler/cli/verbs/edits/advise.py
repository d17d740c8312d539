"""`reconciler advise`: which rebalances are worth it, and what a merge of them would move."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.delivery import delivery_options
from reconciler.cli.edits.manifest_options import base_option
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import output_option

GOALS = ("affinity", "spread", "room", "score", "cost")
COUNT = click.IntRange(1, 2**31 - 1)


@click.command(name="advise")
@click.option(
    "--goal",
    "goals",
    multiple=True,
    type=click.Choice(GOALS),
    help="What moves are to bring (repeatable)  [default: affinity, spread, room]",
)
@click.option("--max-moves", metavar="N", type=COUNT, help="Advise at most so many moves in all.")
@click.option(
    "--min-gain",
    metavar="POINTS",
    type=COUNT,
    default=1,
    show_default=True,
    help="Advise only what gains so much a move; 100 is a replica that is better off for good.",
)
@click.option(
    "--score",
    metavar="NAME/SCORE",
    help="Scores of clusters that count, such as `scores NAME` writes.",
)
@click.option("--lower-is-better", is_flag=True, help="The least of these scores is the best.")
@click.option(
    "--batch", metavar="N", type=COUNT, help="Let the rebalancer move so many replicas a batch."
)
@click.option("--name", metavar="NAME", help="Name of the rebalancer  [default: advice]")
@base_option
@output_option("text", "yaml", "json", says="How to print it; yaml is the rebalancer alone.")
@delivery_options
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Say which rebalances are worth it: what moves, and what that gains.

    Of every object of all three APIs it is asked where a schedule afresh would put it. Goals:
    affinity (back in an earlier affinity group), spread (over regions, zones, labels), room (more
    is placed, or crowded clusters are left), score and cost (by the scores of clusters that --score
    names). Most gain for fewest moves comes first. What is advised is then computed as a merge: the
    passes move exactly that, for this commit.

    Nothing moves by itself: --branch commits the rebalancer on a new branch, to be merged.

    \b
    Examples:
      reconciler advise
      reconciler advise --goal affinity --max-moves 20 --branch back-home
      reconciler advise --goal cost --score prices/eur --min-gain 20
      reconciler advise --goal room --batch 5 -o yaml
    \b
    Exit codes: 0 done, or nothing is worth it; 1 it cannot be written; 2 no such revision or score.
    """
    from reconciler.cli.edits.advise import run

    return run(directory, **options)
