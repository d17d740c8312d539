"""`reconciler validate`, `plan`, `advise`, `simulate` and `render`: the verbs that look ahead.

`validate` checks manifests, in a repository or in any folder. `plan` says what merging a branch
would move; `advise` which rebalances are worth it, and what a merge of them would move; `simulate`
what if a cluster failed, a workload grew, a label changed. `render` prints the manifests of an
object on each of its clusters.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.delivery import base_option, delivery_options
from reconciler.cli.options import (
    ForbiddenType,
    Moment,
    OutputOption,
    layout_options,
    namespace_option,
    output_option,
)
from reconciler.cli.selection import about_object
from reconciler.cli.workers import workers_options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from reconciler.cli.options import Forbidden, Output
    from reconciler.cli.selection import AskedObject
    from reconciler.cli.workers import AskedWorkers
    from reconciler.model.identity import RepositoryLayout

FORMATS = ("text", "json", "junit", "sarif", "github")


@click.command(name="validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option(
    "-o",
    "outputs",
    metavar="FORMAT[=FILE]",
    multiple=True,
    type=OutputOption(FORMATS),
    help=f"How to say what is wrong: {', '.join(FORMATS)}; may be given again  [default: text]",
)
@click.option(
    "--fail-level",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="What exit code 1 is for.",
)
@click.option("--strict", is_flag=True, help="As --fail-level warning.")
@click.option(
    "--references/--no-references",
    default=None,
    help="Check what manifests say of one another in the whole folder  [default: without PATH]",
)
@click.option(
    "--force-exclude", is_flag=True, help="Leave out a PATH that a check of the folder leaves out."
)
@click.option(
    "--rev",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Check the files of a commit  [default: those on disk, in a bare repository HEAD]",
)
@click.option("-v", "verbose", is_flag=True, help="Say of each file what was found in it.")
@layout_options
@click.pass_obj
def validate_command(
    directory: Path,
    /,
    *,
    paths: tuple[Path, ...],
    outputs: "tuple[Output, ...]",
    fail_level: str,
    strict: bool,
    references: bool | None,
    force_exclude: bool,
    rev: str | None,
    verbose: bool,
    layout: "RepositoryLayout",
) -> int:
    r"""Check manifests: YAML, schema, and what the documents say of one another.

    Without PATH the whole root is checked, with its reconciler.yaml. A PATH is a file, a folder,
    a glob, or - for standard input; it is judged by itself. Git is not needed. The files are read
    as they are on disk, committed or not, or with --rev as a commit has them.

    \b
    Examples:
      reconciler validate
      reconciler validate policies/nginx.yaml 'workloads/**/*.yaml'
      reconciler -C fleet validate -o github -o sarif=report.sarif
      reconciler validate --rev HEAD~1
      kubectl get clusters -o yaml | reconciler validate -
    \b
    Exit codes: 0 nothing at or above --fail-level, 1 something, or no manifest, 2 a PATH cannot be
    read.
    """
    from reconciler.cli.validate import run

    return run(
        directory,
        paths=paths,
        outputs=outputs,
        fail_level=fail_level,
        strict=strict,
        references=references,
        force_exclude=force_exclude,
        rev=rev,
        verbose=verbose,
        layout=layout,
    )


@click.command(name="plan")
@click.option(
    "--base",
    metavar="REV",
    shell_complete=complete.revisions,
    help="What is merged into  [default: --branch, else main, else origin/main]",
)
@click.option(
    "--branch",
    metavar="NAME",
    envvar="RECONCILER_BRANCH",
    shell_complete=complete.branches,
    help="Branch that the daemon serves.",
)
@click.option(
    "--head",
    metavar="REV",
    shell_complete=complete.revisions,
    help="What is merged  [default: the files of the checkout]",
)
@click.option("--worktree", is_flag=True, help="Merge the files of the checkout, committed or not.")
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as at this moment  [default: the clock]"
)
@output_option(
    "text",
    "markdown",
    "json",
    "html",
    "svg",
    says="How to print it; markdown (or md) fits one comment on a pull request, html is one page, "
    "svg draws the moves.",
)
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit with 0 if nothing changes, 2 if something does, 1 on any error.",
)
@click.option(
    "--fail-on",
    "conditions",
    metavar="CONDITION",
    type=ForbiddenType(),
    multiple=True,
    help="Exit with 3 if the plan has it: moves>N, unschedulable, removed, lazy; repeatable.",
)
@click.option(
    "--manifests", is_flag=True, help="Print how the manifests of each cluster change, too."
)
@layout_options
@click.pass_obj
def plan_command(
    directory: Path,
    /,
    *,
    base: str | None,
    branch: str | None,
    head: str | None,
    worktree: bool,
    now: "datetime | None",
    output: str,
    detailed_exitcode: bool,
    conditions: "tuple[Forbidden, ...]",
    manifests: bool,
    layout: "RepositoryLayout",
) -> int:
    r"""Show what merging would move: from where to where, and why; no cluster is asked.

    The base is the branch that the daemon serves; what is merged are the files of this checkout,
    committed or not, or --head. The merge is tried aside, nothing in the repository changes.

    \b
    Examples:
      reconciler plan                              what would merging this branch move?
      reconciler plan --head feature -o markdown   the same as a pull-request comment
      reconciler plan --base HEAD --worktree       what would my uncommitted edits move?
      reconciler plan --fail-on 'moves>10' --fail-on removed
      reconciler plan --manifests                  what would change on each cluster?
    \b
    With --fail-on a move is a replica that leaves one cluster for another, or an object without
    replicas that does; what only starts, grows, shrinks or ends is none. An object that no
    cluster can take is unschedulable, one that is on no cluster afterwards is removed. A policy
    that is newly Lazy and places workloads that had no binding is lazy.
    \b
    Exit codes: 0 told, 1 the branches cannot be merged or read, 2 wrong usage, 3 a condition of
    --fail-on is met, whatever else; see --detailed-exitcode.
    """
    from reconciler.cli.plan import run

    return run(
        directory,
        base=base,
        branch=branch,
        head=head,
        worktree=worktree,
        now=now,
        output=output,
        detailed_exitcode=detailed_exitcode,
        conditions=conditions,
        manifests=manifests,
        layout=layout,
    )


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
def advise_command(
    directory: Path,
    /,
    *,
    goals: "Sequence[str]",
    max_moves: int | None,
    min_gain: int,
    score: str | None,
    lower_is_better: bool,
    batch: int | None,
    name: str | None,
    base: str,
    output: str,
    branch: str | None,
    author: str | None,
    layout: "RepositoryLayout",
) -> int:
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
    from reconciler.cli.advise import run

    return run(
        directory,
        goals=goals,
        max_moves=max_moves,
        min_gain=min_gain,
        score=score,
        lower_is_better=lower_is_better,
        batch=batch,
        name=name,
        base=base,
        output=output,
        branch=branch,
        author=author,
        layout=layout,
    )


@click.command(name="simulate")
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    default="HEAD",
    show_default=True,
    help="Begin here.",
)
@click.option(
    "--fail",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="It cannot be reached any more.",
)
@click.option(
    "--cordon",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="It takes no new workload; one that is there may grow.",
)
@click.option(
    "--remove",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="Its manifest is gone.",
)
@click.option(
    "--add",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The objects of this file are there, instead of those of the same names.",
)
@click.option("--scale", multiple=True, metavar="KIND/NAME=N", help="It wants N replicas.")
@click.option(
    "--set",
    "assign",
    multiple=True,
    metavar="KIND/NAME:/POINTER=VALUE",
    help="A field has another value: JSON, or else text; null removes it.",
)
@click.option(
    "--rebalance",
    multiple=True,
    metavar="OBJECT",
    shell_complete=complete.objects,
    help="It is scheduled afresh.",
)
@click.option("--fail-each", is_flag=True, help="Let each cluster fail by itself; rank them.")
@workers_options
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="When it happens  [default: the clock]"
)
@click.option(
    "--after",
    metavar="SECONDS",
    type=click.IntRange(min=0, max=365 * 86400),
    help="Decide so long after it happened  [default: 3600 if a cluster fails, else 0]",
)
@namespace_option
@output_option("text", "markdown", "json", "html", "svg")
@click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if something moves, 0 if nothing does."
)
@layout_options
@click.pass_obj
def simulate_command(
    directory: Path,
    /,
    *,
    at: str,
    fail: tuple[str, ...],
    cordon: tuple[str, ...],
    remove: tuple[str, ...],
    add: tuple[Path, ...],
    scale: tuple[str, ...],
    assign: tuple[str, ...],
    rebalance: tuple[str, ...],
    fail_each: bool,
    workers: "AskedWorkers",
    now: "datetime | None",
    after: int | None,
    namespace: str,
    output: str,
    detailed_exitcode: bool,
    layout: "RepositoryLayout",
) -> int:
    r"""Show what would move if something happened; nothing is written anywhere.

    Any revision can be asked. Options may be repeated and combined. One pass is decided --after
    seconds past --now: a cluster that fails does so at --now, and tolerations run from there.
    --after by itself shows what time alone moves.

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
    from reconciler.cli.previews import WhatIf
    from reconciler.cli.simulate import run

    asked = WhatIf(
        fail=fail,
        cordon=cordon,
        remove=remove,
        add=add,
        scale=scale,
        assign=assign,
        rebalance=rebalance,
    )
    return run(
        directory,
        asked=asked,
        at=at,
        fail_each=fail_each,
        workers=workers,
        now=now,
        after=after,
        namespace=namespace,
        output=output,
        detailed_exitcode=detailed_exitcode,
        layout=layout,
    )


CARRIERS = click.option(
    "--carriers", is_flag=True, help="Print the Works that carry the manifests, with them."
)


@click.command(name="render")
@about_object("yaml", "json", behind="cluster")
@CARRIERS
@click.pass_obj
def render_command(
    directory: Path, /, *, asked: "AskedObject", cluster: str | None, carriers: bool
) -> int:
    r"""Print what an object comes to on its clusters, or on one: replicas, overrides and all.

    It is what delivery writes, whether anything is delivered or not. The decision is the one that
    stands at the revision; values of Secrets are hidden. -o json prints a List, as kubectl does.

    \b
    Examples:
      reconciler render deployment/shop
      reconciler render deployment/shop member1 | kubectl diff -f -
      reconciler render crp/tools --carriers -o json
    \b
    Exit codes: 0 told, 1 something cannot be rendered, or nothing is placed, 2 no such object,
    cluster or revision.
    """
    from reconciler.cli.render import run

    return run(directory, asked=asked, cluster=cluster, carriers=carriers)
