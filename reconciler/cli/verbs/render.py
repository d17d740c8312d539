"""`reconciler render`: the manifests that an object comes to on its clusters."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.audit.named_object import spelled
from reconciler.audit.printable import printable
from reconciler.cli.objects.subject import AskedObject, about_object
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.audit.fleet.renders import RenderedDecision
    from reconciler.dialects.renderer import ClusterWork
    from reconciler.model.body import Body

CARRIERS = click.option(
    "--carriers", is_flag=True, help="Print the Works that carry the manifests, with them."
)


@click.command(name="render")
@about_object("yaml", "json", behind="cluster")
@CARRIERS
@click.pass_obj
def command(directory: Path, asked: AskedObject, cluster: str | None, carriers: bool) -> int:  # noqa: FBT001  # click's
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
    from reconciler.audit.fleet.renders import rendered_in
    from reconciler.audit.named_object import decided_key, find_object, near
    from reconciler.cli.objects.world import load_world

    world = load_world(directory, asked.at, asked.layout)
    key = find_object(world, asked.word, asked.namespace)
    if key not in world.inputs and key not in world.outputs:
        raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
    found = [*rendered_in(world, key)] or [*rendered_in(world, decided_key(world, key))]
    works = _works(found, cluster)
    failed = [
        one for each in found for one in each.rendered.failed if cluster in (None, one.cluster)
    ]
    if cluster is not None and not works and not failed:
        raise UsageError(f"{spelled(key)} is not on {printable(cluster)}")
    if asked.output == "json":
        items = [body for one in works for body in _bodies(one, carriers=carriers)]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        click.echo(json.dumps(listed, indent=2, ensure_ascii=False, default=dict))
    else:
        click.echo("---\n".join(_documents(works, carriers=carriers)), nl=False)
    for one in failed:
        click.echo(printable(f"{one.cluster}: {one.message}"), err=True)
    if not works and not failed:
        click.echo(f"{spelled(key)} is on no cluster, so there is nothing to render", err=True)
    return 1 if failed or not works else 0


def _works(found: "Sequence[RenderedDecision]", cluster: str | None) -> "list[ClusterWork]":
    """Return what clusters get, one or all."""
    works = (work for each in found for work in each.rendered.works)
    return [work for work in works if cluster in (None, work.cluster)]


def _documents(works: "Sequence[ClusterWork]", *, carriers: bool) -> Iterator[str]:
    """Yield each manifest as YAML, under the name of its cluster."""
    from reconciler.manifests.text.emitter import encode

    for work in works:
        for body in _bodies(work, carriers=carriers):
            yield f"# {work.cluster}\n{encode(body)}"


def _bodies(work: "ClusterWork", *, carriers: bool) -> "Iterator[Body]":
    """Yield the manifests for a cluster, or what carries them, without what is secret."""
    from reconciler.manifests.secrets import without_secrets

    shown = {key: without_secrets(body) for key, body in work.manifests.items()}
    if not carriers:
        yield from shown.values()
    elif work.carrier:
        yield replace(work, manifests=shown).carried
