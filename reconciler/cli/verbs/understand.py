"""`reconciler why`, `history`, `blame`, `verify` and `report`: the verbs that explain decisions.

`why` says for every cluster which rule kept an object there or away; `history` has the decisions
about one object over time; `blame` which commit put it on each of its clusters. `verify` computes
every decision of a history again and compares. `report` is the fleet as one page that needs
nothing else, or its moves as a picture.
"""

from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.options import SinceType, layout_options, output_option, runs
from reconciler.cli.selection import about_object
from reconciler.cli.trust import signature_options
from reconciler.cli.workers import workers_options

if TYPE_CHECKING:
    pass


@click.command(name="why")
@about_object(
    "text",
    "json",
    "yaml",
    behind="cluster",
)
@click.pass_obj
@runs("reconciler.cli.why")
def why_command() -> None:
    r"""Explain why an object runs on its clusters, and why not on the others.

    OBJECT is kind/name, or kind name; a workload stands for its binding. The pass that made the
    decision is recomputed and explained, followed by what scheduling would decide differently
    today. With CLUSTER, only that cluster is explained.

    \b
    Examples:
      reconciler why deployment/shop
      reconciler why deployment/shop member1
      reconciler why placement/reports --at v1.4 -o json
    \b
    Exit codes: 0 success, 1 no decision found, 2 no such kind, revision or cluster.
    """


@click.command(name="history")
@about_object("text", "json")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Maximum number of decisions, newest first (0 for no limit).",
)
@click.option(
    "--since",
    metavar="SPAN|REV",
    type=SinceType(),
    shell_complete=complete.revisions,
    help="Only decisions of the last 1h, 30m, 2d, or of commits after this revision.",
)
@click.pass_obj
@runs("reconciler.cli.history")
def history_command() -> None:
    r"""Show the decisions on an object, newest first, and the commits that caused them.

    OBJECT is kind/name; a workload stands for its binding. Every decision is recomputed from its
    inputs. If only time was the cause, such as an expired toleration, the output says so.

    \b
    Examples:
      reconciler history deployment/shop
      reconciler history rb/shop-deployment -n default -o json
      reconciler history placement/reports --at v1.4
      reconciler history deployment/shop --since 2d
    """


@click.command(name="blame")
@about_object("text", "json")
@click.pass_obj
@runs("reconciler.cli.blame")
def blame_command() -> None:
    r"""Show for each cluster since when an object runs there, and which commit put it there.

    OBJECT is kind/name; a workload stands for its binding.

    \b
    Examples:
      reconciler blame deployment/shop
      reconciler blame placement/reports -o json
    """


@click.command(name="verify")
@click.argument("span", metavar="[RANGE]", shell_complete=complete.revisions, required=False)
@output_option("text", "json", says="Output format.")
@click.option("-v", "verbose", is_flag=True, help="Also list each verified commit.")
@click.option("--afresh", is_flag=True, help="Verify again what was verified before.")
@click.option(
    "--branch",
    metavar="NAME",
    help="Branch of RANGE: commits signed for a different branch are reported.",
)
@signature_options
@workers_options
@layout_options
@click.pass_obj
@runs("reconciler.cli.verify")
def verify_command() -> None:
    r"""Verify a history: recompute each decision from its inputs and compare byte for byte.

    RANGE is a revision (its whole history) or A..B; the default is the history of HEAD. Human
    commits are verified, too: they must not change the outputs. What the same version has already
    verified is skipped, so a long run may be interrupted and continued.

    \b
    Examples:
      reconciler verify
      reconciler verify v1.4..main
      reconciler verify main -o json
      reconciler verify v1.4..main --branch main --signatures --allowed-signers keys
      reconciler verify --executor dask://127.0.0.1:8786
    \b
    Exit codes: 0 everything verified, 1 verification failed, 2 no such RANGE.
    """


@click.command(name="report")
@click.option(
    "-o",
    "output",
    metavar="FILE.html|svg",
    required=True,
    help="Output file, - for standard output; svg prints a picture of the moves of --plan or of "
    "the last pass.",
)
@click.option(
    "--rev",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete.revisions,
    help="Report the state at this revision.",
)
@click.option(
    "--plan",
    "branch",
    metavar="BRANCH",
    shell_complete=complete.branches,
    help="Start with what merging this branch would move.",
)
@layout_options
@click.pass_obj
@runs("reconciler.cli.report")
def report_command() -> None:
    r"""Write the views of `serve` to a single file, for offline reading and sharing.

    The file loads nothing from elsewhere, and its content security policy forbids it; its only
    script moves the slider.

    \b
    Examples:
      reconciler report -o fleet.html
      reconciler report -o fleet.html --rev v1.4
      reconciler report -o review.html --plan feature
      reconciler report -o svg --plan feature > moves.svg
    \b
    Exit codes: 0 success, 1 the file cannot be written, 2 no such revision.
    """
