"""`reconciler get`: objects of the repository, people's and ours, as a table or as manifests."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.objects.query import query_options
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import poll_option, read_branch_option


@click.command(name="get")
@query_options
@click.option("-w", "--watch", is_flag=True, help="Go on: print each row that a commit changes.")
@click.option(
    "--output-watch-events",
    "watch_events",
    is_flag=True,
    help="With --watch: say whether a row was ADDED, MODIFIED or DELETED.",
)
@read_branch_option
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Show them as they were at a revision: main~3, a tag.",
)
@poll_option
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Print objects as the branch has them: what people wrote, and what was decided.

    KIND is singular or plural, short (rb, pp, mcl, crp, deploy, ...), or KIND.GROUP, or a category
    such as all, karmada-io and fleet; several are separated by commas. Without it the kinds that
    there are are listed. Values of Secrets are hidden unless they are asked for.

    placements alone means the policies and placements of all APIs, in one table, where there are
    several; placements.cluster.open-cluster-management.io are those of that API.

    \b
    Examples:
      reconciler get clusters
      reconciler get rb,deploy -A -o wide
      reconciler get placements -A
      reconciler get deploy shop frontend
      reconciler get rb/shop-deployment pp/shop -o yaml
      reconciler get deploy -l 'team in (shop, web)' --sort-by .spec.replicas
      reconciler get rb -o custom-columns=NAME:.metadata.name,ON:.spec.clusters[*].name
      reconciler get deploy shop -o jsonpath='{.spec.replicas}'
      reconciler get rb --watch
      reconciler get rb -A --at HEAD~5
    \b
    Exit codes: 0 printed, 1 an object that was named is not there, 2 no such kind or revision,
    130 interrupted.
    """
    from reconciler.cli.objects.get_objects import run

    return run(directory, **options)
