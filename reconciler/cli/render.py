"""The manifests that an object comes to on its clusters."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from reconciler.audit.fleet.tree import rendered_in
from reconciler.audit.named_object import decided_key, find_object, near, spelled
from reconciler.cli.progress import doing
from reconciler.cli.selection import AskedObject
from reconciler.cli.world import load_world
from reconciler.dialects.renderer import ClusterWork
from reconciler.errors import UsageError
from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.records import replace
from reconciler.model.text import printable


def run(directory: Path, asked: AskedObject, *, cluster: str | None, carriers: bool) -> int:
    """Print manifests."""
    world = load_world(directory, asked.at, asked.layout)
    key = find_object(world, asked.word, asked.namespace)
    if key not in world.inputs and key not in world.outputs:
        raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
    with doing("Rendering"):
        rendered = [*rendered_in(world, key)] or [*rendered_in(world, decided_key(world, key))]
    works = [
        failure
        for each in rendered
        for failure in each.rendered.works
        if cluster in (None, failure.cluster)
    ]
    failed = [
        failure
        for each in rendered
        for failure in each.rendered.failed
        if cluster in (None, failure.cluster)
    ]
    if cluster is not None and not works and not failed:
        raise UsageError(f"{spelled(key)} is not on {printable(cluster)}")
    if asked.output == "json":
        items = [body for failure in works for body in _bodies(failure, carriers=carriers)]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        click.echo(json.dumps(listed, indent=2, ensure_ascii=False, default=dict))
    else:
        click.echo("---\n".join(_documents(works, carriers=carriers)), nl=False)
    for failure in failed:
        click.echo(printable(f"{failure.cluster}: {failure.message}"), err=True)
    if not works and not failed:
        click.echo(f"{spelled(key)} runs on no cluster, so there is nothing to render", err=True)
    return 1 if failed or not works else 0


def _documents(works: Sequence[ClusterWork], *, carriers: bool) -> Iterator[str]:
    """Yield each manifest as YAML, under the name of its cluster."""
    for work in works:
        for body in _bodies(work, carriers=carriers):
            yield f"# {work.cluster}\n{encode(body)}"


def _bodies(work: ClusterWork, *, carriers: bool) -> Iterator[Body]:
    """Yield the manifests for a cluster, or what carries them, without what is secret."""
    shown = {key: without_secrets(body) for key, body in work.manifests.items()}
    if not carriers:
        yield from shown.values()
    elif work.carrier:
        yield replace(work, manifests=shown).carried
