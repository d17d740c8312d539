"""`reconciler scores`: numbers of clusters as AddOnPlacementScores."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.object_edits import edit_options


@click.command(name="scores")
@click.argument("resource", metavar="NAME")
@click.option(
    "--table",
    metavar="FILE",
    help="CSV with a head (cluster,price,...) or YAML (member1: {price: 1.5}).",
)
@click.option(
    "--free",
    multiple=True,
    metavar="RESOURCE",
    help="Instead: how much of a resource, such as cpu, each cluster has left (repeatable).",
)
@click.option(
    "--lower-is-better",
    multiple=True,
    metavar="COLUMN",
    help="Of this column the least number is the best (repeatable).",
)
@click.option("--as-it-is", is_flag=True, help="The numbers are scores from -100 to 100 already.")
@click.option("--valid-for", metavar="TIME", help="Scores count as 0 after that time: 24h, 90m.")
@edit_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
    r"""Write scores of clusters, by which Placements choose: price, carbon, latency, free capacity.

    NAME is that of the AddOnPlacementScores, one for each ManagedCluster in the table; each column
    is a score of its name. The best number of a column becomes 100, the worst -100, those between
    in proportion. A share of free capacity is 100 where all is free, -100 where nothing is. Scores
    of other names stay. Files go to scores/NAME/, or are edited where they are, in the checkout,
    uncommitted, or with --branch onto a new branch; they take effect once they are merged.

    A Placement weighs a score with scoreCoordinate: {type: AddOn, addOn: {resourceName: NAME,
    scoreName: COLUMN}}. Where reconciler.yaml says scores: {extend: true}, clusters of all APIs
    have scores: a PropagationPolicy divides with dynamicWeight: AddOnScore/NAME/COLUMN, and a
    ClusterResourcePlacement ranks with the propertySorter score.reconciler.dev/NAME.COLUMN.

    \b
    Examples:
      reconciler scores cost --table prices.csv --lower-is-better price
      reconciler scores cost --table prices.csv --valid-for 24h --branch prices-today
      reconciler scores room --free cpu --free memory
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such table, cluster or column.
    """
    from reconciler.cli.edits.scores import run

    return run(directory, **asked)
