"""`reconciler rebalance`, `scale`, `drain` and the other verbs that write user files.

`rebalance` writes a WorkloadRebalancer and says what it would move; `approve` writes what approves
a stage of a staged update run; `scale` sets replicas, `label` labels, `taint` the taints of
clusters, and `scores` the numbers of clusters as AddOnPlacementScores. `resume` takes a `suspend`
back, and `uncordon` a `cordon`. `drain` empties clusters, and says what is left on them.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.delivery import manifest_options
from reconciler.cli.edits import EditOptions, edit_options
from reconciler.cli.options import namespace_option
from reconciler.cli.selection import all_objects, chosen_options, cluster_selector_option
from reconciler.cli.suspend import hold, holding_options
from reconciler.rebalance.target import TargetState

if TYPE_CHECKING:
    from reconciler.cli.selection import NamedOrChosen
    from reconciler.model.identity import RepositoryLayout


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
def rebalance_command(
    directory: Path,
    /,
    *,
    targets: tuple[str, ...],
    selector: str | None,
    policy: str | None,
    on_cluster: str | None,
    state: str | None,
    namespace: str | None,
    all_namespaces: bool,
    max_moves: int | None,
    ttl: int | None,
    name: str | None,
    base: str,
    branch: str | None,
    author: str | None,
    dry_run: bool,
    output: str,
    layout: "RepositoryLayout",
) -> int:
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
    from reconciler.cli.new_manifests import RebalanceWords
    from reconciler.cli.rebalance import run

    demand = RebalanceWords(
        targets=all_objects(targets),
        selector=selector,
        policy=policy,
        on_cluster=on_cluster,
        state=state,
        namespace=namespace,
        all_namespaces=all_namespaces,
        max_moves=max_moves,
        ttl=ttl,
        name=name,
    )
    return run(
        directory,
        demand=demand,
        base=base,
        branch=branch,
        author=author,
        dry_run=dry_run,
        output=output,
        layout=layout,
    )


@click.command(name="approve")
@click.argument("word", metavar="RUN", shell_complete=complete.objects)
@click.argument("stage", metavar="[STAGE]", required=False)
@click.option("-m", "--message", metavar="TEXT", help="Why, for whoever reads it later.")
@namespace_option
@manifest_options
@click.pass_obj
def approve_command(
    directory: Path,
    /,
    *,
    word: str,
    stage: str | None,
    message: str | None,
    namespace: str | None,
    base: str,
    branch: str | None,
    author: str | None,
    dry_run: bool,
    output: str,
    layout: "RepositoryLayout",
) -> int:
    r"""Let a staged update run go on: write what approves its stage, and say what it would move.

    RUN is a name or kind/name. Without STAGE it is what the run asks for now; a STAGE may be
    approved in advance. The manifest goes to approvals/ in the checkout, uncommitted, or with
    --branch onto a new branch; merging it approves. It names this very run: another one of the same
    name is not approved by it.

    \b
    Examples:
      reconciler approve shop-v2
      reconciler approve shop-v2 prod -m 'canary is quiet' --branch approve-prod
      reconciler approve stagedupdaterun/nightly -n team-a --dry-run
    \b
    Exit codes: 0 done or approved before, 1 it cannot be written, 2 nothing of it is asked for.
    """
    from reconciler.cli.approve import run

    return run(
        directory,
        word=word,
        stage=stage,
        message=message,
        namespace=namespace,
        base=base,
        branch=branch,
        author=author,
        dry_run=dry_run,
        output=output,
        layout=layout,
    )


@click.command(name="suspend")
@holding_options
@click.pass_obj
def suspend_command(
    directory: Path,
    /,
    *,
    word: str | None,
    namespace: str,
    everything: bool,
    dry_run: bool,
    output: str,
    branch: str | None,
    author: str | None,
    layout: "RepositoryLayout",
) -> int:
    r"""Leave what an object governs where it is, until it is resumed.

    OBJECT is kind/name of a policy, a placement, a workload, or a rebalancer with a schedule. Its
    file is edited by a line or two and stays as it is otherwise: in the checkout, uncommitted, or
    with --branch on a new branch. It takes effect once it is merged.

    \b
    Examples:
      reconciler suspend pp/shop
      reconciler suspend deployment/shop --branch hold-shop
      reconciler suspend --all
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object.
    """
    return hold(
        directory,
        suspend=True,
        word=word,
        namespace=namespace,
        everything=everything,
        dry_run=dry_run,
        output=output,
        branch=branch,
        author=author,
        layout=layout,
    )


@click.command(name="resume")
@holding_options
@click.pass_obj
def resume_command(
    directory: Path,
    /,
    *,
    word: str | None,
    namespace: str,
    everything: bool,
    dry_run: bool,
    output: str,
    branch: str | None,
    author: str | None,
    layout: "RepositoryLayout",
) -> int:
    r"""Let an object that was suspended be scheduled again.

    OBJECT is kind/name, as for suspend; the line by which it was suspended is taken out of its
    file. It takes effect once it is merged.

    \b
    Examples:
      reconciler resume pp/shop
      reconciler resume deployment/shop --branch go-on
      reconciler resume --all
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object.
    """
    return hold(
        directory,
        suspend=False,
        word=word,
        namespace=namespace,
        everything=everything,
        dry_run=dry_run,
        output=output,
        branch=branch,
        author=author,
        layout=layout,
    )


MOST = 2**31 - 1


@click.command(name="scale")
@chosen_options("OBJECT...|KIND")
@click.option(
    "--replicas",
    metavar="N",
    type=click.IntRange(0, MOST),
    required=True,
    help="How many replicas each is to have.",
)
@click.option(
    "--current-replicas",
    "current",
    metavar="N",
    type=click.IntRange(0, MOST),
    help="Only if it has so many now.",
)
@edit_options
@click.pass_obj
def scale_command(
    directory: Path,
    /,
    *,
    selection: "NamedOrChosen",
    replicas: int,
    current: int | None,
    to: EditOptions,
) -> int:
    r"""Let workloads have N replicas: edit the line of their files, say what it would move.

    OBJECT is kind/name of a workload; -l or --all choose among those of a KIND. Its file stays as
    it is otherwise: in the checkout, uncommitted, or with --branch on a new branch. It takes effect
    once it is merged.

    \b
    Examples:
      reconciler scale deployment/shop --replicas=5
      reconciler scale deployment shop frontend --replicas=0 --dry-run
      reconciler scale deployment/shop --current-replicas=2 --replicas=5 --branch more-shop
      reconciler scale deploy -l team=web --replicas=0 --branch web-off
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object, or it has no replicas.
    """
    from reconciler.cli.scale import scale

    return scale(directory, selection=selection, replicas=replicas, current=current, to=to)


@click.command(name="label")
@chosen_options("OBJECT...|KIND KEY=VALUE|KEY-...")
@click.option("--overwrite", is_flag=True, help="Let a label that is there get another value.")
@edit_options
@click.pass_obj
def label_command(
    directory: Path, /, *, selection: "NamedOrChosen", overwrite: bool, to: EditOptions
) -> int:
    r"""Set labels of objects, or with KEY- remove them, and say what it would move.

    OBJECT is kind/name of what people wrote: a workload, a cluster, a policy; -l or --all choose
    among those of a KIND. Its file stays as it is otherwise: in the checkout, uncommitted, or with
    --branch on a new branch. It takes effect once it is merged.

    \b
    Examples:
      reconciler label deployment/shop tier=gold
      reconciler label cluster member1 member2 region=north --overwrite
      reconciler label cluster/member1 tier- --branch untier
      reconciler label deploy -l app=shop tier=gold
      reconciler label clusters --all fleet=eu --dry-run
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such object, or it has another value.
    """
    from reconciler.cli.scale import label

    return label(directory, selection=selection, overwrite=overwrite, to=to)


@click.command(name="cordon")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@edit_options
@click.pass_obj
def cordon_command(
    directory: Path, /, *, words: tuple[str, ...], selector: str | None, to: EditOptions
) -> int:
    r"""Keep clusters from taking anything new; what is there stays.

    CLUSTER is a name, which means the clusters of that name in all APIs, or kind/name; -l chooses
    among all clusters. Its file gets the taint that its API has for it, and stays as it is
    otherwise: in the checkout, uncommitted, or with --branch on a new branch. It takes effect once
    it is merged.

    \b
    Examples:
      reconciler cordon member1
      reconciler cordon member1 member2 --branch repairs
      reconciler cordon managedcluster/edge1 --dry-run
      reconciler cordon -l region=eu --branch eu-repairs
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such cluster.
    """
    from reconciler.cli.cordon import cordon

    return cordon(directory, words=words, selector=selector, to=to)


@click.command(name="uncordon")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@edit_options
@click.pass_obj
def uncordon_command(
    directory: Path, /, *, words: tuple[str, ...], selector: str | None, to: EditOptions
) -> int:
    r"""Let clusters that were cordoned or drained take something new again.

    CLUSTER is a name or kind/name, as for cordon. What cordon and drain wrote goes, and nothing
    else: their taints in its file, and evictions. It takes effect once it is merged.

    \b
    Examples:
      reconciler uncordon member1
      reconciler uncordon member1 member2 --branch repaired
      reconciler uncordon -l region=eu
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such cluster.
    """
    from reconciler.cli.cordon import uncordon

    return uncordon(directory, words=words, selector=selector, to=to)


@click.command(name="drain")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@click.option("--status", is_flag=True, help="Write nothing: say what is left on the clusters.")
@edit_options
@click.pass_obj
def drain_command(
    directory: Path,
    /,
    *,
    words: tuple[str, ...],
    selector: str | None,
    status: bool,
    to: EditOptions,
) -> int:
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
    from reconciler.cli.drain import drain, drain_status

    if status:
        return drain_status(directory, words=words, selector=selector, asked=to)
    return drain(directory, words=words, selector=selector, to=to)


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
def scores_command(
    directory: Path,
    /,
    *,
    resource: str,
    table: str | None,
    free: tuple[str, ...],
    lower_is_better: tuple[str, ...],
    as_it_is: bool,
    valid_for: str | None,
    to: EditOptions,
) -> int:
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
    from reconciler.cli.scores import run

    return run(
        directory,
        resource=resource,
        table=table,
        free=free,
        lower_is_better=lower_is_better,
        as_it_is=as_it_is,
        valid_for=valid_for,
        to=to,
    )


@click.command(name="taint")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="CLUSTER...|KIND KEY[=VALUE]:EFFECT|KEY[:EFFECT]-...",
    shell_complete=complete.objects,
)
@cluster_selector_option
@click.option("--all", "every", is_flag=True, help="Take all clusters of the kind.")
@click.option("--overwrite", is_flag=True, help="Let a taint that is there get another value.")
@edit_options
@click.pass_obj
def taint_command(
    directory: Path,
    /,
    *,
    words: tuple[str, ...],
    selector: str | None,
    every: bool,
    overwrite: bool,
    to: EditOptions,
) -> int:
    r"""Set taints of clusters, or with a minus behind them remove them, and say what would move.

    CLUSTER is kind/name, or as in kubectl a kind and names; -l or --all choose among those of a
    kind, "cluster" being those of all APIs. The effects are those of its API, each of which means
    something else: see docs/operations.md. Its file stays as it is otherwise: in the checkout,
    uncommitted, or with --branch on a new branch. It takes effect once it is merged.

    \b
    Examples:
      reconciler taint cluster member1 repair=disk:NoExecute
      reconciler taint cluster/member1 repair=disk:NoSchedule --overwrite --dry-run
      reconciler taint managedcluster edge1 edge2 repair:NoSelect
      reconciler taint cluster member1 repair:NoExecute-
      reconciler taint cluster member1 repair- --branch repaired
      reconciler taint cluster -l region=eu repair:NoSchedule --dry-run
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such cluster, effect or taint.
    """
    from reconciler.cli.cordon import taint

    return taint(directory, words=words, selector=selector, every=every, overwrite=overwrite, to=to)
