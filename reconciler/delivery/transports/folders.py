"""A folder a cluster, with the manifests that belong there, for Flux, Argo CD and kubectl."""

from collections.abc import Iterable, Iterator

from reconciler.delivery.settings import Destination
from reconciler.delivery.transports.transport import Files, Transport
from reconciler.dialects.renderer import UNKNOWN_OBJECTS, Rendered, Wraps
from reconciler.manifests.paths import folder_of, portable_stem
from reconciler.model.identity import ClusterName, ObjectKey

CLUSTER_SCOPED = "_cluster"  # no namespace can be called so


def manifest_path(folder: str, source: ObjectKey) -> str:
    """Return where the manifest of an object stands, whatever overrides have made of its name.

    >>> manifest_path("delivery/a", ObjectKey("apps", "Deployment", "default", "web"))
    'delivery/a/default/deployments.apps/web.yaml'
    """
    return f"{folder}/{_within(source)}"


def moved_path(path: str) -> str:
    """Return where a manifest stands whose name a disk may fold, by where it stood before.

    >>> moved_path("delivery/a/_cluster/roles/system:a.yaml").rpartition("-")[0]
    'delivery/a/_cluster/roles/system-a'
    """
    folder, _, file = path.rpartition("/")
    return f"{folder}/{portable_stem(file.removesuffix('.yaml'))}.yaml"


def _within(source: ObjectKey) -> str:
    """Return where the manifest of an object stands in the folder of any cluster."""
    scope, kind = source.namespace or CLUSTER_SCOPED, folder_of(source.group, source.kind)
    return f"{scope}/{kind}/{portable_stem(source.name)}.yaml"


def _files(_owner: ObjectKey, rendered: Rendered, destination: Destination, _: Wraps) -> Files:
    within: dict[ObjectKey, str] = {}  # many clusters get the same objects
    for work in rendered.works:
        folder = destination.folder(work.cluster)
        for source, manifest in work.manifests.items():
            if source not in within:
                within[source] = _within(source)
            yield f"{folder}/{within[source]}", manifest


def _places(
    _owner: ObjectKey,
    cluster: ClusterName,
    sources: Iterable[ObjectKey],
    destination: Destination,
) -> Iterator[str]:
    folder = destination.folder(cluster)
    for source in sources:
        yield folder if source == UNKNOWN_OBJECTS else manifest_path(folder, source)


FOLDERS = Transport(name="folders", files=_files, places=_places, kustomized=True)
