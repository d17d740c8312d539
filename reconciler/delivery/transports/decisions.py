"""A file a decision that lists its clusters, as the git generator of an ApplicationSet reads it."""

from collections.abc import Iterable, Iterator

from reconciler.delivery.settings import Destination
from reconciler.delivery.transports.transport import Files, Transport
from reconciler.dialects.renderer import Rendered, Wraps
from reconciler.manifests.paths import output_path
from reconciler.model.identity import ClusterName, ObjectKey


def _files(owner: ObjectKey, rendered: Rendered, destination: Destination, _: Wraps) -> Files:
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


def _places(
    owner: ObjectKey,
    _cluster: ClusterName,
    _sources: Iterable[ObjectKey],
    destination: Destination,
) -> Iterator[str]:
    yield _path(owner, destination)


def _path(owner: ObjectKey, destination: Destination) -> str:
    return f"{output_path(destination.place, owner).removesuffix('.yaml')}.json"


DECISIONS = Transport(name="decisions", files=_files, places=_places)
