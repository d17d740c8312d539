"""`reconciler import`: what kubectl prints, as files of the repository."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.delivery import delivery_options
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import output_option
from reconciler.cli.options.remote_access import access_options
from reconciler.cli.options.trust import signing_options


@click.command(name="import")
@click.argument("sources", nargs=-1, metavar="[FILE|DIR|-]...")
@click.option("--context", metavar="NAME", help="Ask kubectl for this context instead of files.")
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --context: the file that has it  [default: kubectl's]",
)
@click.option(
    "-n", "--namespace", metavar="NS", default="", help="With --context: of this namespace only."
)
@click.option(
    "--timeout-seconds",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="With --context: limit of one answer.",
)
@click.option(
    "--cluster",
    metavar="NAME",
    default="",
    help="It is an export of this member cluster: its nodes and pods become the cluster's room, "
    "the status of workloads becomes feedback.",
)
@click.option(
    "--workloads",
    metavar="TYPE,...",
    multiple=True,
    help="Take workloads, too: of these types, such as deployments,services; propagated takes the "
    "kinds that policies, placements and decisions name, with their Namespaces and "
    "PriorityClasses; all takes all, of a context kubectl's category of that name.  "
    "[default: propagated with --adopt, else none]",
)
@click.option("--adopt", is_flag=True, help="Make live decisions our state; nothing moves.")
@click.option(
    "--tolerance",
    metavar="PERCENT",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    help="Amounts of clusters that changed by no more stay as they are.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, write nothing.")
@click.option(
    "--check",
    "check_switch",
    is_flag=True,
    help="Say what of the switch from this hub is not done yet; write nothing.",
)
@click.option(
    "--host-context",
    metavar="NAME",
    help="With --check: kubectl's context of the cluster that runs the hub's control plane, where "
    "that is another one.",
)
@output_option("text", "json")
@delivery_options
@click.option(
    "--remote",
    metavar="URL",
    envvar="RECONCILER_IMPORT_REMOTE",
    help="With --branch: commit onto that branch of this remote, and push it; if somebody else "
    "pushes meanwhile, all is computed again.",
)
@access_options
@signing_options
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Write what kubectl prints of a live control plane into the files that are read here.

    Clusters, policies, placements and scores get a file each, with nothing that a server made. An
    object that has a file is brought up to date there, comments kept; nothing is written if nothing
    that counts has changed.

    \b
    Examples:
      kubectl get clusters.cluster.karmada.io -o json | reconciler import -
      reconciler import --context hub --dry-run
      reconciler import --context hub --adopt
      reconciler import --context hub --workloads deployments,services
      reconciler import --context member1 --cluster member1 --branch report-member1
      reconciler import --context hub --host-context host --check
    \b
    Exit codes: 0 done, 1 something could not be imported or written, or is not done yet (--check),
    2 wrong usage.
    """
    from reconciler.cli.edits.import_here import run

    return run(directory, **options)
