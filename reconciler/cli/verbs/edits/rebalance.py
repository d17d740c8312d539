"""`reconciler rebalance`: write a WorkloadRebalancer, and say what it would move."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.manifest_options import manifest_options
from reconciler.cli.objects import complete
from reconciler.rebalance.target import TargetState


@click.command(name="rebalance")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=complete.objects)
@click.option("-l", "--selector", metavar="K=V,...", help="Also what has these labels.")
@click.option("--policy", metavar="[NS/]NAME", help="Also what this policy has placed.")
@click.option(
    "--on-cluster",
    metavar="NAME",
    shell_complete=complete.clusters,
    help="Also what is on clusters of this name.",
)
@click.option(
    "--state",
    type=click.Choice([str(state) for state in TargetState]),
    help="Also what is not placed as it should be.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=complete.namespaces,
    help="Namespace  [default: default]",
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Let it mean all namespaces.")
@click.option(
    "--max-moves", metavar="N", type=click.IntRange(1, 2**31 - 1), help="Replicas a batch may move."
)
@click.option(
    "--ttl",
    metavar="SECONDS",
    type=click.IntRange(0, 2**31 - 1),
    help="Remove the rebalancer so long after it has finished  [default: never]",
)
@click.option("--name", metavar="NAME", help="Its name  [default: made of the first target]")
@manifest_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Have workloads scheduled afresh: write a WorkloadRebalancer, and say what it would move.

    TARGET is kind/name of a workload, a binding or a placement, of any API; what --selector,
    --policy, --on-cluster and --state describe together is meant besides. The manifest goes to
    rebalancers/ in the checkout, uncommitted, or with --branch onto a new branch; it takes effect
    once it is merged into the branch that is served.

    \b
    Examples:
      reconciler rebalance deployment/shop --dry-run
      reconciler rebalance deployment/shop deployment/frontend --ttl 3600
      reconciler rebalance --policy default/shop --max-moves 5 --branch move-shop
      reconciler rebalance -l tier=web -A -o yaml
      reconciler rebalance --on-cluster member1 --state AwayFromFirstAffinity -A
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such workload, policy or revision.
    """
    from reconciler.cli.edits.rebalance import run

    return run(directory, **options)
