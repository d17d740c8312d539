"""`reconciler why`: for every cluster, which rule kept an object there or away."""

from pathlib import Path

import click

from reconciler.cli.objects.subject import AskedObject, about_object


@click.command(name="why")
@about_object(
    "text",
    "json",
    "yaml",
    behind="cluster",
)
@click.pass_obj
def command(directory: Path, asked: AskedObject, *, cluster: str | None) -> int:
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
    from reconciler.cli.printing.why import run

    return run(directory, asked, cluster)
