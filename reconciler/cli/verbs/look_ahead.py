"""`reconciler validate`, `plan`, `advise`, `simulate` and `render`: the verbs that look ahead.

`validate` checks manifests, in a repository or in any folder. `plan` says what merging a branch
would move; `advise` which rebalances are worth it, and what a merge of them would move; `simulate`
what if a cluster failed, a workload grew, a label changed. `render` prints the manifests of an
object on each of its clusters.
"""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.delivery import base_option, delivery_options
from reconciler.cli.options import (
    ForbiddenType,
    Moment,
    OutputOption,
    gathers,
    layout_options,
    namespace_option,
    output_option,
    runs,
)
from reconciler.cli.selection import about_object
from reconciler.cli.workers import workers_options

if TYPE_CHECKING:
    pass

FORMATS = ("text", "json", "junit", "sarif", "github")
kubernetes_option = click.option(
    "--kubernetes-version",
    "kubernetes",
    metavar="VERSION",
    default="",
    help="Version of Kubernetes to check workloads against, or none to leave them unchecked  "
    "[default: the newest known]",
)


@click.command(name="validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option(
    "-o",
    "outputs",
    metavar="FORMAT[=FILE]",
    multiple=True,
    type=OutputOption(FORMATS),
    help=f"Report format: {', '.join(FORMATS)} (repeatable)  [default: text]",
)
@click.option(
    "--fail-level",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="Lowest severity that makes the exit code 1.",
)
@click.option("--strict", is_flag=True, help="Same as --fail-level=warning.")
@click.option(
    "--references/--no-references",
    default=None,
    help="Check references between manifests of the whole folder  [default: without PATH]",
)
@click.option(
    "--force-exclude", is_flag=True, help="Skip a PATH that a check of the whole folder would skip."
)
@click.option(
    "--rev",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Check the files of a commit  [default: files on disk, HEAD in a bare repository]",
)
@kubernetes_option
@click.option("-v", "verbose", is_flag=True, help="List what was found in each file.")
@layout_options
@click.pass_obj
@runs("reconciler.cli.validate")
def validate_command() -> None:
    r"""Validate manifests: YAML, schema, and references between documents.

    Without PATH the whole root is checked, including reconciler.yaml. PATH is a file, a folder, a
    glob, or - for standard input, and is checked in isolation. Git is not needed. Files are read
    from disk, committed or not, or from a commit with --rev.

    \b
    Examples:
      reconciler validate
      reconciler validate policies/nginx.yaml 'workloads/**/*.yaml'
      reconciler -C fleet validate -o github -o sarif=report.sarif
      reconciler validate --rev HEAD~1
      kubectl get clusters -o yaml | reconciler validate -
    \b
    Exit codes: 0 nothing at or above --fail-level, 1 findings at that level, or no manifests, 2 a
    PATH cannot be read.
    """


@click.command(name="plan")
@click.option(
    "--base",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Revision to merge into  [default: the served branch, or on that branch itself what was "
    "fetched of it, else what was decided last]",
)
@click.option(
    "--branch",
    metavar="NAME",
    envvar="RECONCILER_BRANCH",
    shell_complete=complete.branches,
    help="Branch served by the daemon.",
)
@click.option(
    "--head",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Revision to merge  [default: the files of the checkout]",
)
@click.option("--worktree", is_flag=True, help="Merge the files of the checkout, committed or not.")
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as of this time  [default: now]"
)
@output_option(
    "text",
    "markdown",
    "json",
    "html",
    "svg",
    says="Output format; markdown (or md) fits a pull-request comment, html is a single page, svg "
    "a picture of the moves.",
)
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit with 0 for no changes, 2 for changes, 1 for errors.",
)
@click.option(
    "--fail-on",
    "conditions",
    metavar="CONDITION",
    type=ForbiddenType(),
    multiple=True,
    callback=lambda _context, _parameter, lists: tuple(chain.from_iterable(lists)),
    help="Exit with 3 if the plan has moves>N, unschedulable, removed, lazy, faults or warnings "
    "(comma-separated, repeatable).",
)
@click.option(
    "--manifests", is_flag=True, help="Also show how the manifests of each cluster change."
)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=complete.namespaces,
    help="Show only objects of this namespace.",
)
@click.option(
    "-l", "--selector", metavar="SELECTOR", help="Show only objects with these labels: app=shop."
)
@click.option(
    "--only",
    metavar="KIND/NAME",
    multiple=True,
    shell_complete=complete.objects,
    help="Show only this object (repeatable).",
)
@click.option(
    "--roots",
    metavar="GLOB",
    multiple=True,
    help="Plan each matching folder that has a reconciler.yaml (repeatable).",
)
@kubernetes_option
@layout_options
@click.pass_obj
@gathers("question", "reconciler.cli.plan", "PlanQuestion")
@runs("reconciler.cli.plan")
def plan_command() -> None:
    r"""Show what merging a change would move, from where to where, and why.

    The base is the branch served by the daemon; merged into it are the files of this checkout,
    committed or not, or --head. The merge is simulated: neither the repository nor any cluster is
    touched.

    \b
    Examples:
      reconciler plan                              what would merging this branch move?
      reconciler plan --head feature -o markdown   the same as a pull-request comment
      reconciler plan --base HEAD --worktree       what would my uncommitted edits move?
      reconciler plan --fail-on 'moves>10,removed,faults'
      reconciler plan --roots 'envs/*'             each root of a repository that has several
      reconciler plan --manifests                  what would change on each cluster?
    \b
    For --fail-on, a move is a replica, or an object without replicas, that leaves one cluster
    for another; starting, growing, shrinking and stopping do not count. unschedulable is an
    object that no cluster can take, removed one that is on no cluster afterwards, and lazy a
    policy that becomes Lazy and places workloads that had no binding. faults and warnings are
    those that the change brings. With -n, -l and --only the conditions on objects are about what
    is shown.
    \b
    Exit codes: 0 success, 1 the branches cannot be merged or read, 2 usage error, 3 a condition
    of --fail-on is met, which takes precedence; see --detailed-exitcode.
    """


GOALS = ("affinity", "spread", "room", "score", "cost")
COUNT = click.IntRange(1, 2**31 - 1)


@click.command(name="advise")
@click.option(
    "--goal",
    "goals",
    multiple=True,
    type=click.Choice(GOALS),
    help="Goal of the moves (repeatable)  [default: affinity, spread, room]",
)
@click.option("--max-moves", metavar="N", type=COUNT, help="Maximum number of moves in total.")
@click.option(
    "--min-gain",
    metavar="POINTS",
    type=COUNT,
    default=1,
    show_default=True,
    help="Minimum gain per move; 100 is one replica permanently better placed.",
)
@click.option(
    "--score",
    metavar="NAME/SCORE",
    help="Cluster scores to use, such as those written by `scores NAME`.",
)
@click.option("--lower-is-better", is_flag=True, help="Lower scores are better.")
@click.option(
    "--batch", metavar="N", type=COUNT, help="Replicas that the rebalancer moves per batch."
)
@click.option(
    "--preserve-available",
    is_flag=True,
    help="Move only replicas that clusters report as unschedulable.",
)
@click.option(
    "--rest",
    metavar="SECONDS",
    type=COUNT,
    help="Seconds for which what moves is then left alone, and not moved back.",
)
@click.option("--name", metavar="NAME", help="Name of the rebalancer  [default: advice]")
@base_option
@output_option("text", "yaml", "json", says="Output format; yaml prints only the rebalancer.")
@delivery_options
@layout_options
@click.pass_obj
@gathers("to", "reconciler.cli.delivery", "ManifestOptions")
@runs("reconciler.cli.advise")
def advise_command() -> None:
    r"""Recommend worthwhile rebalances: what would move, and what is gained.

    Every object of all three APIs is scheduled from scratch to see where it would go. Goals:
    affinity (return to an earlier affinity group), spread (over regions, zones, labels), room
    (place more, or leave crowded clusters), score and cost (by the cluster scores of --score). The
    highest gain for the fewest moves comes first. The result is then computed as a merge: for this
    commit, passes move exactly what is shown.

    Nothing moves until merged: --branch commits the rebalancer to a new branch.

    \b
    Examples:
      reconciler advise
      reconciler advise --goal affinity --max-moves 20 --branch back-home
      reconciler advise --goal cost --score prices/eur --min-gain 20
      reconciler advise --goal room --batch 5 -o yaml
      reconciler advise --preserve-available --branch unstick
    \b
    Exit codes: 0 success, or nothing to recommend; 1 cannot write; 2 no such revision or score.
    """


@click.command(name="simulate")
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    default="HEAD",
    show_default=True,
    help="Revision to start from.",
)
@click.option(
    "--fail",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="The cluster becomes unreachable.",
)
@click.option(
    "--cordon",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="The cluster takes no new workloads; existing ones may grow.",
)
@click.option(
    "--remove",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="The manifest of the cluster is removed.",
)
@click.option(
    "--add",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Add the objects of this file, replacing those of the same names.",
)
@click.option(
    "--scale", multiple=True, metavar="KIND/NAME=N", help="Set the desired replicas of a workload."
)
@click.option(
    "--set",
    "assign",
    multiple=True,
    metavar="KIND/NAME:/POINTER=VALUE",
    help="Set a field to a value, JSON or else text; null removes it.",
)
@click.option(
    "--rebalance",
    multiple=True,
    metavar="OBJECT",
    shell_complete=complete.objects,
    help="Schedule the object from scratch.",
)
@click.option(
    "--fail-each", is_flag=True, help="Simulate the failure of each cluster in turn, and rank them."
)
@workers_options
@click.option("--now", metavar="MOMENT", type=Moment(), help="Time of the event  [default: now]")
@click.option(
    "--after",
    metavar="SECONDS",
    type=click.IntRange(min=0, max=365 * 86400),
    help="Decide this long after the event  [default: 3600 if a cluster fails, else 0]",
)
@namespace_option
@output_option("text", "markdown", "json", "html", "svg")
@click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if anything moves, 0 if nothing does."
)
@layout_options
@click.pass_obj
@gathers("asked", "reconciler.cli.previews", "WhatIf")
@runs("reconciler.cli.simulate")
def simulate_command() -> None:
    r"""Show what hypothetical events would move, without writing anything.

    Options may be repeated and combined, at any revision. The events happen at --now, where the
    tolerations of failed clusters start to run, and one pass is decided --after seconds later.
    --after alone shows what the passage of time moves.

    \b
    Examples:
      reconciler simulate --fail member1
      reconciler simulate --after 3600
      reconciler simulate --cordon member1 --scale deployment/shop=20
      reconciler simulate --set cluster/member2:/metadata/labels/env=prod
      reconciler simulate --add new-cluster.yaml --rebalance deployment/shop -o json
      reconciler simulate --fail-each
      reconciler simulate --fail-each --executor dask://127.0.0.1:8786
    """


CARRIERS = click.option(
    "--carriers", is_flag=True, help="Also print the Works that carry the manifests."
)


@click.command(name="render")
@about_object("yaml", "json", behind="cluster")
@CARRIERS
@click.pass_obj
@runs("reconciler.cli.render")
def render_command() -> None:
    r"""Print the manifests rendered for each cluster, with replicas and overrides applied.

    The output is what delivery writes, whether delivery is configured or not. The decision is that
    of the revision; values of Secrets are hidden. -o json prints a List, as kubectl does.

    \b
    Examples:
      reconciler render deployment/shop
      reconciler render deployment/shop member1 | kubectl diff -f -
      reconciler render crp/tools --carriers -o json
    \b
    Exit codes: 0 success, 1 rendering failed, or nothing is placed, 2 no such object, cluster or
    revision.
    """
