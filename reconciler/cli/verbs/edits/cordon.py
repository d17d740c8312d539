"""`reconciler cordon`, and `reconciler uncordon`, which takes it back."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.object_edits import edit_options
from reconciler.cli.objects import complete
from reconciler.cli.objects.object_selection import cluster_selector_option


@click.command(name="cordon")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@edit_options
@click.pass_obj
def command(directory: Path, /, **asked: Any) -> int:
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
    from reconciler.cli.edits.cluster_edits import cordon

    return cordon(directory, **asked)


@click.command(name="uncordon")
@click.argument("words", nargs=-1, metavar="CLUSTER...", shell_complete=complete.clusters)
@cluster_selector_option
@edit_options
@click.pass_obj
def uncordon_command(directory: Path, /, **asked: Any) -> int:
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
    from reconciler.cli.edits.cluster_edits import uncordon

    return uncordon(directory, **asked)
