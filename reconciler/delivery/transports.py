"""The transports of this build, by name; a new one is a `Transport` and a line in `TRANSPORTS`.

A transport says which files bring a decision to clusters, and where those may stand:

- `decisions`: one file per decision that lists its clusters, as the git generator of an
  ApplicationSet reads it.
- `folders`: one folder per cluster, with the manifests that belong there, for Flux, Argo CD and
  kubectl.
- `works`: the Works of an API itself, for its own agents, of hubs without a controller that writes
  them.
- `manifestworks`: what any API decides as objects of the API whose agents read them, in its words.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from reconciler.delivery.settings import Destination
from reconciler.dialects.renderer import UNKNOWN_OBJECTS, Rendered, Wraps
from reconciler.manifests.paths import folder_of, output_path, portable_stem
from reconciler.model.body import Body
from reconciler.model.fields import at, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass

Files = Iterator[tuple[str, Body | Sequence[Body]]]
"""Path, and what the file holds: one object as YAML, or a list of them as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """One way to bring decisions to clusters.

    Attributes:
        name: By which the configuration calls it.
        files: Yields the files of a decision, given how objects of one API carry what any decides.
        places: Yields the files, or folders of files, that a decision has for a cluster, given
            what of it may be there; what it cannot render stays there.
        kustomized: Whether a folder of a cluster is one that kustomize builds.
    """

    name: str
    files: Callable[[ObjectKey, Rendered, Destination, Wraps], Files]
    places: Callable[[ObjectKey, ClusterName, Iterable[ObjectKey], Destination], Iterator[str]]
    kustomized: bool = False


def _decision_files(
    owner: ObjectKey, rendered: Rendered, destination: Destination, _: Wraps
) -> Files:
    if rendered.placed:
        path = _path(owner, destination)
        named = {"kind": owner.kind, "namespace": owner.namespace, "name": owner.name}
        lines = [
            {
                "cluster": name,
                **({} if replicas is None else {"replicas": replicas}),
                "decision": named,
            }
            for name, replicas in rendered.placed
        ]
        yield path, lines


def _decision_places(
    owner: ObjectKey,
    _cluster: ClusterName,
    _sources: Iterable[ObjectKey],
    destination: Destination,
) -> Iterator[str]:
    yield _path(owner, destination)


def _path(owner: ObjectKey, destination: Destination) -> str:
    return f"{output_path(destination.place, owner).removesuffix('.yaml')}.json"


DECISIONS = Transport(name="decisions", files=_decision_files, places=_decision_places)


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


def _folder_files(
    _owner: ObjectKey, rendered: Rendered, destination: Destination, _: Wraps
) -> Files:
    within: dict[ObjectKey, str] = {}  # many clusters get the same objects
    for work in rendered.works:
        folder = destination.folder(work.cluster)
        for source, manifest in work.manifests.items():
            if source not in within:
                within[source] = _within(source)
            yield f"{folder}/{within[source]}", manifest


def _folder_places(
    _owner: ObjectKey,
    cluster: ClusterName,
    sources: Iterable[ObjectKey],
    destination: Destination,
) -> Iterator[str]:
    folder = destination.folder(cluster)
    for source in sources:
        yield folder if source == UNKNOWN_OBJECTS else manifest_path(folder, source)


FOLDERS = Transport(name="folders", files=_folder_files, places=_folder_places, kustomized=True)


def owner_folder(destination: Destination, cluster: ClusterName, owner: ObjectKey) -> str:
    """Return the folder of what a decision puts onto a cluster.

    >>> destination = Destination("works", "works/{cluster}")
    >>> owner_folder(destination, "a", ObjectKey("example.org", "Binding", "ns", "web"))
    'works/a/bindings.example.org/ns/web'
    """
    return output_path(destination.folder(cluster), owner).removesuffix(".yaml")


def _work_files(owner: ObjectKey, rendered: Rendered, destination: Destination, _: Wraps) -> Files:
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


WORKS = Transport(name="works", files=_work_files, places=places_of)


NAME = "manifestworks"


def _manifest_work_files(
    owner: ObjectKey, rendered: Rendered, destination: Destination, wraps: Wraps
) -> Files:
    wrap = wraps[NAME]
    for work in rendered.works:
        body = wrap(owner, work)
        folder = owner_folder(destination, work.cluster, owner)
        yield f"{folder}/{text(at(body, 'metadata'), 'name')}.yaml", body


MANIFEST_WORKS = Transport(name=NAME, files=_manifest_work_files, places=places_of)


TRANSPORTS: Mapping[str, Transport] = {
    transport.name: transport for transport in (FOLDERS, DECISIONS, MANIFEST_WORKS, WORKS)
}
