"""`reconciler rebalance`, `scale`, `drain` and the other verbs that write user files.

`rebalance` writes a WorkloadRebalancer and says what it would move; `approve` writes what approves
a stage of a staged update run, `rollout` orders of staged deliveries; `scale` sets replicas,
`label` labels, `taint` the taints of clusters, and `scores` the numbers of clusters as
AddOnPlacementScores. `resume` takes a `suspend` back, `uncordon` a `cordon`, and `undo` any commit.
`drain` empties clusters, and says what is left.
"""

from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.delivery import delivery_options, manifest_options
from reconciler.cli.edits import edit_options
from reconciler.cli.options import (
    gathers,
    layout_options,
    namespace_option,
    output_option,
    runs,
)
from reconciler.cli.selection import chosen_options, cluster_selector_option
from reconciler.cli.suspend import holding_options
from reconciler.rebalance.target import TargetState

if TYPE_CHECKING:
    pass


@click.command(name="rebalance")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=complete.objects)
@click.option("-l", "--selector", metavar="K=V,...", help="Also target objects with these labels.")
@click.option("--policy", metavar="[NS/]NAME", help="Also target what this policy has placed.")
@click.option(
    "--on-cluster",
    metavar="NAME",
    shell_complete=complete.clusters,
    help="Also target what runs on clusters of this name.",
)
@click.option(
    "--state",
    type=click.Choice([str(state) for state in TargetState]),
    help="Also target objects in this state.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=complete.namespaces,
    help="Namespace  [default: default]",
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Target all namespaces.")
@click.option(
    "--max-moves",
    metavar="N",
    type=click.IntRange(1, 2**31 - 1),
    help="Maximum number of replicas to move per batch.",
)
@click.option(
    "--make-before-break",
    is_flag=True,
    help="Start new replicas beside old ones, which wait until the new ones are ready.",
)
@click.option(
    "--preserve-available",
    is_flag=True,
    help="Move only replicas that clusters report as unschedulable; keep all others.",
)
@click.option(
    "--rest",
    metavar="SECONDS",
    type=click.IntRange(1, 2**31 - 1),
    help="Seconds for which what moves is then left alone, and not moved back.",
)
@click.option(
    "--ttl",
    metavar="SECONDS",
    type=click.IntRange(0, 2**31 - 1),
    help="Delete the rebalancer this long after it has finished  [default: never]",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the rebalancer  [default: derived from the first target]",
)
@manifest_options
@click.pass_obj
@gathers("demand", "reconciler.cli.new_manifests", "RebalanceWords")
@runs("reconciler.cli.rebalance")
def rebalance_command() -> None:
    r"""Write a WorkloadRebalancer to schedule workloads from scratch, and show what it would move.

    TARGET is kind/name of a workload, binding or placement, of any API; objects that match all of
    --selector, --policy, --on-cluster and --state are targeted as well. The manifest is written to
    rebalancers/ in the checkout, uncommitted, or with --branch to a new branch. It takes effect
    once merged into the served branch.

    \b
    Examples:
      reconciler rebalance deployment/shop --dry-run
      reconciler rebalance deployment/shop deployment/frontend --ttl 3600
      reconciler rebalance --policy default/shop --max-moves 5 --branch move-shop
      reconciler rebalance deployment/shop --make-before-break
      reconciler rebalance -l tier=web -A -o yaml
      reconciler rebalance --on-cluster member1 --state AwayFromFirstAffinity -A
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such workload, policy or revision.
    """


@click.command(name="approve")
@click.argument("word", metavar="RUN", shell_complete=complete.objects)
@click.argument("stage", metavar="[STAGE]", required=False)
@click.option("-m", "--message", metavar="TEXT", help="Reason for the approval.")
@namespace_option
@manifest_options
@click.pass_obj
@runs("reconciler.cli.approve")
def approve_command() -> None:
    r"""Approve a stage of a staged update run, and show what it would move.

    RUN is a name or kind/name. The default STAGE is the one that awaits approval; later stages may
    be approved in advance. The manifest is written to approvals/ in the checkout, uncommitted, or
    with --branch to a new branch; merging it approves the stage. The approval is valid for this run
    only, not for a later run of the same name.

    \b
    Examples:
      reconciler approve shop-v2
      reconciler approve shop-v2 prod -m 'canary is quiet' --branch approve-prod
      reconciler approve stagedupdaterun/nightly -n team-a --dry-run
    \b
    Exit codes: 0 success or approved before, 1 cannot write, 2 the run does not await approval.
    """


@click.command(name="rollout")
@click.argument("action", type=click.Choice(["approve", "stop", "resume", "rollback"]))
@click.argument("name", metavar="NAME")
@click.argument("stage", required=False)
@click.option(
    "--task",
    type=click.Choice(["before", "after"]),
    help="Task of the stage to approve  [default: the one that is awaited, else before]",
)
@edit_options
@click.pass_obj
@runs("reconciler.cli.approve", "order")
def rollout_command() -> None:
    r"""Order something of the run of a StagedDelivery: approve a stage, stop, resume, roll back.

    NAME is a StagedDelivery. The order is added to its file, in the checkout, uncommitted, or with
    --branch on a new branch; it takes effect once merged, and is valid for this run only. The
    default STAGE of an approval is the one that awaits it.

    \b
    Examples:
      reconciler rollout approve shop
      reconciler rollout approve shop prod --task after --branch approve-prod
      reconciler rollout stop shop
      reconciler rollout rollback shop --dry-run
    \b
    Exit codes: 0 success or approved before, 1 cannot write, 2 there is no such run.
    """


@click.command(name="undo")
@click.argument("commit", metavar="COMMIT", shell_complete=complete.revisions)
@click.option("--also", is_flag=True, help="Also take back what was changed again later.")
@click.option("--dry-run", is_flag=True, help="Print what would be undone without writing.")
@output_option("text", "json", says="Output format of what is undone.")
@delivery_options
@layout_options
@click.pass_obj
@runs("reconciler.cli.undo")
def undo_command() -> None:
    r"""Take a decision or an edit back: its causes, and where the objects were.

    COMMIT is a commit of a pass, or one of a person with what passes made of it. The files that
    caused the moves get the version that they had before, and the outputs of the objects that moved
    go back with them, so that the next pass finds nothing to move. Files are written uncommitted,
    or with --branch on a new branch.

    Objects that were decided again later, and files that were edited again, are named and stay.
    What a failure or a score has caused stays, too, with what to do instead, and so does what a run
    of a StagedDelivery has given to clusters. With outputs on a branch of their own the causes are
    undone, and the annotation reconciler.dev/restore asks the next pass to put the objects back.

    \b
    Examples:
      reconciler undo HEAD
      reconciler undo 1a2b3c4 --branch undo-the-typo
      reconciler undo 1a2b3c4 --also --dry-run
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such commit, or nothing in it can be undone.
    """


@click.command(name="suspend")
@click.option("--reason", metavar="TEXT", default="", help="Why, for status, why and the page.")
@click.option(
    "--until",
    metavar="WHEN",
    default="",
    help="When it ends by itself: a moment, or a duration such as 2h.",
)
@holding_options
@click.pass_obj
@runs("reconciler.cli.suspend", "hold", suspend=True)
def suspend_command() -> None:
    r"""Suspend scheduling of an object: what it governs stays where it is until resumed.

    OBJECT is kind/name of a policy, a placement, a workload, or a rebalancer with a schedule. Only
    the lines that suspend it are edited in its file, in the checkout, uncommitted, or with --branch
    on a new branch. The change takes effect once merged. With --reason or --until it also says by
    whom; from the moment of --until on passes schedule the object again, whatever its file says.

    \b
    Examples:
      reconciler suspend pp/shop
      reconciler suspend deployment/shop --reason "INC-4711" --until 2h
      reconciler suspend deployment/shop --branch hold-shop
      reconciler suspend --all
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such object.
    """


@click.command(name="resume")
@holding_options
@click.pass_obj
@runs("reconciler.cli.suspend", "hold", suspend=False)
def resume_command() -> None:
    r"""Resume scheduling of a suspended object.

    OBJECT is kind/name, as for suspend; the line that suspends it is removed from its file. The
    change takes effect once merged.

    \b
    Examples:
      reconciler resume pp/shop
      reconciler resume deployment/shop --branch go-on
      reconciler resume --all
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such object.
    """


MOST = 2**31 - 1


@click.command(name="scale")
@chosen_options("OBJECT...|KIND")
@click.option(
    "--replicas",
    metavar="N",
    type=click.IntRange(0, MOST),
    required=True,
    help="Desired number of replicas of each workload.",
)
@click.option(
    "--current-replicas",
    "current",
    metavar="N",
    type=click.IntRange(0, MOST),
    help="Precondition: the current number of replicas.",
)
@edit_options
@click.pass_obj
@runs("reconciler.cli.scale", "scale")
def scale_command() -> None:
    r"""Set the replicas of workloads in their files, and show what it would move.

    OBJECT is kind/name of a workload; -l or --all select among those of a KIND. Only that line of
    the file is edited, in the checkout, uncommitted, or with --branch on a new branch. The change
    takes effect once merged.

    \b
    Examples:
      reconciler scale deployment/shop --replicas=5
      reconciler scale deployment shop frontend --replicas=0 --dry-run
      reconciler scale deployment/shop --current-replicas=2 --replicas=5 --branch more-shop
      reconciler scale deploy -l team=web --replicas=0 --branch web-off
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such object, or it has no replicas.
    """


@click.command(name="label")
@chosen_options("OBJECT...|KIND KEY=VALUE|KEY-...")
@click.option("--overwrite", is_flag=True, help="Allow changing the value of an existing label.")
@edit_options
@click.pass_obj
@runs("reconciler.cli.scale", "label")
def label_command() -> None:
    r"""Set labels of objects, or remove them with KEY-, and show what it would move.

    OBJECT is kind/name of a user-written object: a workload, a cluster, a policy; -l or --all
    select among those of a KIND. Only the labels in its file are edited, in the checkout,
    uncommitted, or with --branch on a new branch. The change takes effect once merged.

    \b
    Examples:
      reconciler label deployment/shop tier=gold
      reconciler label cluster member1 member2 region=north --overwrite
      reconciler label cluster/member1 tier- --branch untier
      reconciler label deploy -l app=shop tier=gold
      reconciler label clusters --all fleet=eu --dry-run
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such object, or the label has another value.
    """


@click.command(name="cordon")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@edit_options
@click.pass_obj
@runs("reconciler.cli.cordon", "cordon")
def cordon_command() -> None:
    r"""Mark clusters as unschedulable for new workloads; existing ones stay.

    CLUSTER is a name, for the clusters of that name in all APIs, or kind/name; -l selects among all
    clusters. The taint that the API uses for this is added to the file of the cluster, in the
    checkout, uncommitted, or with --branch on a new branch. The change takes effect once merged.

    \b
    Examples:
      reconciler cordon member1
      reconciler cordon member1 member2 --branch repairs
      reconciler cordon managedcluster/edge1 --dry-run
      reconciler cordon -l region=eu --branch eu-repairs
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such cluster.
    """


@click.command(name="uncordon")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@edit_options
@click.pass_obj
@runs("reconciler.cli.cordon", "uncordon")
def uncordon_command() -> None:
    r"""Make cordoned or drained clusters schedulable again.

    CLUSTER is a name or kind/name, as for cordon. Only the taints, evictions and rebalancers that
    cordon and drain wrote are removed. The change takes effect once merged.

    \b
    Examples:
      reconciler uncordon member1
      reconciler uncordon member1 member2 --branch repaired
      reconciler uncordon -l region=eu
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such cluster.
    """


@click.command(name="drain")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@click.option(
    "--make-before-break",
    is_flag=True,
    help="Start each workload elsewhere, and wait until it is ready, before it leaves.",
)
@click.option(
    "--status", is_flag=True, help="Only show what remains on the clusters, without writing."
)
@edit_options
@click.pass_obj
@runs("reconciler.cli.drain")
def drain_command() -> None:
    r"""Move all workloads off clusters, and mark them as unschedulable.

    CLUSTER is a name, for the clusters of that name in all APIs, or kind/name; -l selects among all
    clusters. The taint that evicts workloads in the API of a cluster is added to its file; where an
    API has none (KubeFleet), an eviction is written for each placement, subject to disruption
    budgets. Files are written in the checkout, uncommitted, or with --branch on a new branch; the
    change takes effect once merged. The plan shows what would stay anyway, and what would not be
    replaced.

    With --make-before-break clusters are cordoned, and a rebalancer for each moves what is there
    step by step; nothing is evicted. What it cannot move so, and what is not ready in time, stays.

    --status shows what remains on the clusters in the branch, and when or why not each object
    leaves. uncordon reverts what drain wrote.

    \b
    Examples:
      reconciler drain member1
      reconciler drain member1 --branch drain-member1
      reconciler drain -l region=eu --dry-run
      reconciler drain member1 --make-before-break
      reconciler drain member1 --status
      reconciler uncordon member1
    \b
    Exit codes: 0 success, or nothing remains; 1 something remains, or cannot write; 2 no such
    cluster.
    """


@click.command(name="scores")
@click.argument("resource", metavar="NAME")
@click.option(
    "--table",
    metavar="FILE",
    help="CSV with a header (cluster,price,...), or YAML (member1: {price: 1.5}).",
)
@click.option(
    "--free",
    multiple=True,
    metavar="RESOURCE",
    help="Instead of a table: free capacity of a resource, such as cpu (repeatable).",
)
@click.option(
    "--lower-is-better",
    multiple=True,
    metavar="COLUMN",
    help="Lower values of this column are better (repeatable).",
)
@click.option("--as-it-is", is_flag=True, help="The values are already scores from -100 to 100.")
@click.option(
    "--valid-for", metavar="TIME", help="Scores count as 0 after this time, such as 24h or 90m."
)
@edit_options
@click.pass_obj
@runs("reconciler.cli.scores")
def scores_command() -> None:
    r"""Write cluster scores for Placements to rank by: price, carbon, latency, free capacity.

    NAME is the name of the AddOnPlacementScores, one for each ManagedCluster in the table; each
    column is a score. The best value of a column becomes 100, the worst -100, those between are
    scaled in proportion. Free capacity scores 100 if everything is free, -100 if nothing is. Other
    scores are kept. Files are written to scores/NAME/, or edited in place, in the checkout,
    uncommitted, or with --branch on a new branch. The change takes effect once merged.

    A Placement uses a score with scoreCoordinate: {type: AddOn, addOn: {resourceName: NAME,
    scoreName: COLUMN}}. With scores: {extend: true} in reconciler.yaml, clusters of all APIs have
    scores: a PropagationPolicy divides with dynamicWeight: AddOnScore/NAME/COLUMN, and a
    ClusterResourcePlacement ranks with the propertySorter score.reconciler.dev/NAME.COLUMN.

    \b
    Examples:
      reconciler scores cost --table prices.csv --lower-is-better price
      reconciler scores cost --table prices.csv --valid-for 24h --branch prices-today
      reconciler scores room --free cpu --free memory
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such table, cluster or column.
    """


@click.command(name="taint")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="CLUSTER...|KIND KEY[=VALUE]:EFFECT|KEY[:EFFECT]-...",
    shell_complete=complete.objects,
)
@cluster_selector_option
@click.option("--all", "every", is_flag=True, help="Select all clusters of the kind.")
@click.option("--overwrite", is_flag=True, help="Allow changing the value of an existing taint.")
@edit_options
@click.pass_obj
@runs("reconciler.cli.cordon", "taint")
def taint_command() -> None:
    r"""Set taints of clusters, or remove them with a trailing minus, and show what would move.

    CLUSTER is kind/name or, as in kubectl, a kind and names; -l or --all select among those of a
    kind, where "cluster" stands for all APIs. Effects differ between the APIs: see
    docs/operations.md. Only the taints in the file are edited, in the checkout, uncommitted, or
    with --branch on a new branch. The change takes effect once merged.

    \b
    Examples:
      reconciler taint cluster member1 repair=disk:NoExecute
      reconciler taint cluster/member1 repair=disk:NoSchedule --overwrite --dry-run
      reconciler taint managedcluster edge1 edge2 repair:NoSelect
      reconciler taint cluster member1 repair:NoExecute-
      reconciler taint cluster member1 repair- --branch repaired
      reconciler taint cluster -l region=eu repair:NoSchedule --dry-run
    \b
    Exit codes: 0 success, 1 cannot write, 2 no such cluster, effect or taint.
    """
