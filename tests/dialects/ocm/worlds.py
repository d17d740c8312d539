"""Worlds of OCM objects for tests of whole passes, and what a pass leaves behind."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache

from reconciler.core.changes import DeleteFile, Outcome, WriteFile
from reconciler.core.dialects import KINDS
from reconciler.core.reconcile import reconcile
from reconciler.manifests.identity import namespace_for
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, Origin, group_of
from reconciler.model.moments import parse_moment
from reconciler.model.world import Manifest, World

GROUP = "cluster.open-cluster-management.io"
REVISION = "1" * 40
NOW = parse_moment("2026-11-20T12:00:00Z")


def at(seconds: int) -> datetime:
    """The moment so many seconds after the first pass."""
    return NOW + timedelta(seconds=seconds)


def body(kind: str, name: str, *, namespace: str = "", version: str = "v1", **rest: object) -> Body:
    """An object of OCM."""
    metadata: dict[str, object] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata |= {key: rest.pop(key) for key in ("labels", "annotations") if key in rest}
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": metadata, **rest}


def cluster(name: str, *taints: Body, status: Body | None = None) -> Body:
    """A cluster of the set `s`."""
    labels = {f"{GROUP}/clusterset": "s"}
    found = body("ManagedCluster", name, labels=labels, spec={"taints": list(taints)})
    return found if status is None else {**found, "status": status}


def binding(name: str = "s") -> Body:
    """A binding in the namespace ns1."""
    kind, spec = "ManagedClusterSetBinding", {"clusterSet": name}
    return body(kind, name, namespace="ns1", version="v1beta2", spec=spec)


def cluster_set(name: str = "s") -> Body:
    """An exclusive set."""
    return body("ManagedClusterSet", name, version="v1beta2", spec={})


def score(cluster_name: str, value: int, **status: object) -> Body:
    """What an add-on reports of one cluster."""
    scores = [{"name": "s", "value": value}]
    kind, status = "AddOnPlacementScore", {"scores": scores, **status}
    return body(kind, "r", namespace=cluster_name, version="v1alpha1", status=status)


def placement(name: str = "p", **spec: object) -> Body:
    """A placement in the namespace ns1."""
    return body("Placement", name, namespace="ns1", version="v1beta1", spec=spec)


BY_SCORE: Mapping[str, object] = {
    "mode": "Exact",
    "configurations": [
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}}
    ],
}


def key_of(document: Body) -> ObjectKey:
    """The key of a document."""
    group, kind = group_of(str(document["apiVersion"])), str(document["kind"])
    metadata = document["metadata"]
    assert isinstance(metadata, Mapping)
    namespace = namespace_for(group, kind, str(metadata.get("namespace", "")), KINDS.scopes)
    return ObjectKey(group, kind, namespace, str(metadata["name"]))


def world(documents: Iterable[Body], files: Mapping[str, str] | None = None) -> World:
    """The world of these documents and these files below the output root."""
    inputs = {}
    for document in documents:
        key = key_of(document)
        path = f"hub/{key.kind}.{key.namespace}.{key.name}.yaml"
        inputs[key] = Manifest(key, Origin(path), document)
    outputs = {}
    present = {}
    for path, content in (files or {}).items():
        document = read_once(content, path)
        outputs[key_of(document)] = Manifest(key_of(document), Origin(path), document)
        present[path] = blob_id(content.encode(), like=REVISION)
    return World(revision=REVISION, known=KINDS, inputs=inputs, outputs=outputs, present=present)


@lru_cache(maxsize=1024)
def read_once(content: str, path: str) -> Body:
    """The document of a file, the very same one for the same content, as a loader has it."""
    return read(content.encode(), path).documents[0].body


def run(
    documents: Iterable[Body], files: dict[str, str], now: datetime
) -> tuple[dict[str, str], Outcome]:
    """One pass: the files it leaves behind, and its outcome."""
    outcome = reconcile(world(documents, files), now)
    after = dict(files)
    for change in outcome.changes:
        match change:
            case WriteFile():
                after[change.path] = change.content
            case DeleteFile():
                del after[change.path]
    return after, outcome


def chosen(files: Mapping[str, str], name: str = "p") -> list[str]:
    """The clusters of a placement, by its first decision object."""
    path = f"status/placementdecisions.{GROUP}/ns1/{name}-decision-1.yaml"
    document = read(files[path].encode(), path).documents[0].body
    status = document["status"]
    assert isinstance(status, Mapping)
    return [str(item["clusterName"]) for item in status["decisions"]]
