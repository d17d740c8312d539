"""The Works of an API itself, for its own agents: of hubs without a controller that writes them."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from reconciler.delivery.settings import Destination
from reconciler.delivery.transports.transport import Files, Transport
from reconciler.dialects.renderer import Rendered, Wraps
from reconciler.manifests.paths import output_path
from reconciler.model.content import at
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName, ObjectKey


def owner_folder(destination: Destination, cluster: ClusterName, owner: ObjectKey) -> str:
    """Return the folder of what a decision puts onto a cluster.

    >>> destination = Destination("works", "works/{cluster}")
    >>> owner_folder(destination, "a", ObjectKey("example.org", "Binding", "ns", "web"))
    'works/a/bindings.example.org/ns/web'
    """
    return output_path(destination.folder(cluster), owner).removesuffix(".yaml")


def _files(owner: ObjectKey, rendered: Rendered, destination: Destination, _: Wraps) -> Files:
    for work in filter(attrgetter("carrier"), rendered.works):
        folder = owner_folder(destination, work.cluster, owner)
        name = text(at(work.carrier, "metadata"), "name")
        yield f"{folder}/{name}.yaml", work.carried


def places_of(
    owner: ObjectKey,
    cluster: ClusterName,
    _sources: Iterable[ObjectKey],
    destination: Destination,
) -> Iterator[str]:
    """Yield the folder of a decision on a cluster."""
    yield owner_folder(destination, cluster, owner)


WORKS = Transport(name="works", files=_files, places=places_of)
