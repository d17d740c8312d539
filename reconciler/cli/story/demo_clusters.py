"""What the demonstration asks of clusters: how copies fare, and at the end what runs on each."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from reconciler.audit.fleet.delivered_copies import CopiesOf
from reconciler.cli.printing.table import table_lines
from reconciler.core.dialects import DIALECTS
from reconciler.delivery.settings import decode_delivery
from reconciler.dialects.copy_status import CopyStatus
from reconciler.manifests.text.limits import Oversized
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import mapping, number, text
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.shell.git.objects import read_blobs
from reconciler.shell.git.repository import Repository

DELIVERY = "  # A folder a cluster, for Flux or Argo CD to sync.\n  delivery:\n    folders: {}\n"
"""What turns delivery on, at the end of the example's configuration."""


def clusters_table(repository: Repository, world: World) -> list[str]:
    """Return a line for each cluster that has a folder: what stands in it, with replicas."""
    (folders,) = decode_delivery(settings_in(world)).destinations
    paths = sorted(path for path in world.delivered if folders.cluster_of(path))
    blobs = [world.delivered[path] for path in paths]
    found: dict[str, list[str]] = defaultdict(list)
    for path, (_, content) in zip(paths, read_blobs(repository, blobs), strict=True):
        listed = found[folders.cluster_of(path)]
        if not isinstance(content, Oversized):
            listed += _objects(content, path)
    rows = [[name, ", ".join(listed) or "nothing"] for name, listed in sorted(found.items())]
    return table_lines(["CLUSTER", "RUNS"], rows)


def _objects(content: bytes, path: str) -> Iterator[str]:
    """Yield the objects in a file, but for what only kustomize reads."""
    for document in read(content, path).documents:
        if document.body.get("kind") != "Kustomization":
            yield _named(document.body)


def _named(body: Body) -> str:
    """Return an object by kind and name, with its replicas."""
    replicas = number(mapping(body, "spec"), "replicas")
    name = f"{text(body, 'kind').lower()}/{text(mapping(body, 'metadata'), 'name')}"
    return f"{name}({replicas})" if replicas else name


def copies_in(world: World, now: datetime) -> Iterator[CopyStatus]:
    """Yield what is known by now of the copies of each workload that was decided about."""
    copies = CopiesOf(world, now)
    for dialect in DIALECTS:
        view = dialect.view()
        for key, manifest in world.outputs.items():
            is_decision = (key.group, key.kind) in dialect.placed
            if is_decision and view.workload_of(manifest.body) is not None:
                yield from copies.statuses(key)
