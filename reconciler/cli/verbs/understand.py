"""`reconciler why`, `history`, `blame`, `verify` and `report`: the verbs that explain decisions.

`why` says for every cluster which rule kept an object there or away; `history` has the decisions
about one object over time; `blame` which commit put it on each of its clusters. `verify` computes
every decision of a history again and compares. `report` is the fleet as one page that needs
nothing else, or its moves as a picture.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.options import layout_options, output_option
from reconciler.cli.selection import AskedObject, about_object
from reconciler.cli.trust import signature_options
from reconciler.cli.workers import workers_options

if TYPE_CHECKING:
    from reconciler.cli.trust import AskedSignatures
    from reconciler.cli.workers import AskedWorkers
    from reconciler.model.identity import RepositoryLayout


@click.command(name="why")
@about_object(
    "text",
    "json",
    "yaml",
    behind="cluster",
)
@click.pass_obj
def why_command(directory: Path, asked: AskedObject, *, cluster: str | None) -> int:
    r"""Explain why an object is on its clusters, and why it is not on the others.

    OBJECT is kind/name, or kind name; a workload stands for its binding. The pass that decided is
    computed again and explained; what scheduling would say otherwise today is told below. With
    CLUSTER only that cluster is explained.

    \b
    Examples:
      reconciler why deployment/shop
      reconciler why deployment/shop member1
      reconciler why placement/reports --at v1.4 -o json
    \b
    Exit codes: 0 told, 1 nothing is decided about it, 2 no such kind, revision or cluster.
    """
    from reconciler.cli.why import run

    return run(directory, asked, cluster)


@click.command(name="history")
@about_object("text", "json")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many at most; 0 shows all.",
)
@click.pass_obj
def history_command(directory: Path, /, *, asked: AskedObject, limit: int) -> int:
    r"""Print what was decided about an object, the newest first, and whose commit caused it.

    OBJECT is kind/name; a workload stands for its binding. Every decision is computed again from
    its inputs. Where time alone was the cause, such as a toleration that ended, it says so.

    \b
    Examples:
      reconciler history deployment/shop
      reconciler history rb/shop-deployment -n default -o json
      reconciler history placement/reports --at v1.4
    """
    from reconciler.cli.history import run

    return run(directory, asked=asked, limit=limit)


@click.command(name="blame")
@about_object("text", "json")
@click.pass_obj
def blame_command(directory: Path, /, *, asked: AskedObject) -> int:
    r"""Print for each cluster of an object since when it is there, and whose commit put it there.

    OBJECT is kind/name; a workload stands for its binding.

    \b
    Examples:
      reconciler blame deployment/shop
      reconciler blame placement/reports -o json
    """
    from reconciler.cli.blame import run

    return run(directory, asked=asked)


@click.command(name="verify")
@click.argument("span", metavar="[RANGE]", shell_complete=complete.revisions, required=False)
@output_option("text", "json", says="How to print what was found.")
@click.option("-v", "verbose", is_flag=True, help="Show each proven commit, too.")
@click.option("--afresh", is_flag=True, help="Prove what was proven before, too.")
@click.option(
    "--branch",
    metavar="NAME",
    help="The branch that RANGE is of: what was signed for another one is a finding.",
)
@signature_options
@workers_options
@layout_options
@click.pass_obj
def verify_command(
    directory: Path,
    /,
    *,
    span: str | None,
    output: str,
    verbose: bool,
    afresh: bool,
    branch: str | None,
    asked: "AskedSignatures",
    workers: "AskedWorkers",
    layout: "RepositoryLayout",
) -> int:
    r"""Prove a history: compute each decision again from its inputs, compare byte for byte.

    RANGE is a revision (its whole history) or A..B; without one it is the history of HEAD.
    Commits that people made are proven, too: they must leave the outputs alone. What was proven
    before by the same version is not proven again, so a long proof may be interrupted.

    \b
    Examples:
      reconciler verify
      reconciler verify v1.4..main
      reconciler verify main -o json
      reconciler verify v1.4..main --branch main --signatures --allowed-signers keys
      reconciler verify --executor dask://127.0.0.1:8786
    \b
    Exit codes: 0 all proven, 1 something is not as it must be, 2 no such RANGE.
    """
    from reconciler.cli.verify import run

    return run(
        directory,
        span=span,
        output=output,
        verbose=verbose,
        afresh=afresh,
        branch=branch,
        asked=asked,
        workers=workers,
        layout=layout,
    )


@click.command(name="report")
@click.option(
    "-o",
    "output",
    metavar="FILE.html|svg",
    required=True,
    help="The file to write, - for standard output; svg draws the moves there, of --plan or of "
    "the last pass.",
)
@click.option(
    "--rev",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete.revisions,
    help="As at a revision.",
)
@click.option(
    "--plan",
    "branch",
    metavar="BRANCH",
    shell_complete=complete.branches,
    help="Begin with what merging this branch would move.",
)
@layout_options
@click.pass_obj
def report_command(
    directory: Path, /, *, output: str, rev: str, branch: str | None, layout: "RepositoryLayout"
) -> int:
    r"""Write the views of `serve` as one file: it can be sent along, and read offline.

    It loads nothing from anywhere, and says so to the browser; its one script moves the slider.

    \b
    Examples:
      reconciler report -o fleet.html
      reconciler report -o fleet.html --rev v1.4
      reconciler report -o review.html --plan feature
      reconciler report -o svg --plan feature > moves.svg
    \b
    Exit codes: 0 written, 1 the file cannot be written, 2 no such revision.
    """
    from reconciler.cli.report import run

    return run(directory, output=output, rev=rev, branch=branch, layout=layout)
