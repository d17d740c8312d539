"""`reconciler drain`: empty clusters, and say what is left on them."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.object_edits import edit_options
from reconciler.cli.objects import complete
from reconciler.cli.objects.object_selection import cluster_selector_option


@click.command(name="drain")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@click.option("--status", is_flag=True, help="Write nothing: say what is left on the clusters.")
@edit_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
    r"""Move everything away from clusters, and keep them from taking anything new.

    CLUSTER is a name, which means the clusters of that name in all APIs, or kind/name; -l chooses
    among all clusters. Its file gets the taint by which its API takes everything away; where an API
    has none (KubeFleet), an eviction is written for each placement, so that disruption budgets
    count. In the checkout, uncommitted, or with --branch on a new branch; it takes effect once it
    is merged. What would stay nevertheless, and what nothing replaces, is told with the plan.

    --status tells what is left on clusters as of the branch: when each object goes, or why not.
    uncordon takes back what drain wrote.

    \b
    Examples:
      reconciler drain member1
      reconciler drain member1 --branch drain-member1
      reconciler drain -l region=eu --dry-run
      reconciler drain member1 --status
      reconciler uncordon member1
    \b
    Exit codes: 0 done, or nothing is left; 1 something is left, or it cannot be written; 2 no such
    cluster.
    """
    from reconciler.cli.edits.drain import drain, drain_status

    if asked.pop("status"):
        return drain_status(directory, **asked)
    return drain(directory, **asked)
