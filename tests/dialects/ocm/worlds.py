"""Worlds of OCM objects for tests of whole passes, and what a pass leaves behind."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import cast

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.core.changes import DeleteFile, Outcome, WriteFile
from reconciler.core.dialects import KINDS
from reconciler.core.reconcile import reconcile
from reconciler.dialects.ocm.api.placement import WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    TEMPLATE,
    decode_record,
    template_id,
    work_name,
)
from reconciler.manifests.identity import namespace_for
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey, Origin, group_of
from reconciler.model.moments import parse_moment
from reconciler.model.world import Manifest, World
from tests.builders import text, text_of
from tests.stories import Story, story

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


SHOP = ObjectKey(WORK_GROUP, REPLICA_SET, "ns1", "shop")
STATUS = f"status/manifestworkreplicasets.{WORK_GROUP}/ns1/shop.yaml"


def settings_map(value: str = "1", name: str = "settings") -> Body:
    """A ConfigMap in the namespace shop."""
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value}}


def replica_set(
    *manifests: Body, strategy: Body | None = None, placements: Sequence[str] = ("p",)
) -> Body:
    """The set shop in the namespace ns1, of one ConfigMap unless others are given."""
    rollout = {} if strategy is None else {"rolloutStrategy": strategy}
    return {
        "apiVersion": f"{WORK_GROUP}/v1alpha1",
        "kind": REPLICA_SET,
        "metadata": {"name": "shop", "namespace": "ns1", "labels": {"team": "web"}},
        "spec": {
            "placementRefs": [{"name": name, **rollout} for name in placements],
            "manifestWorkTemplate": {
                "workload": {"manifests": list(manifests or (settings_map(),))}
            },
        },
    }


def progressive(**fields: object) -> Body:
    """A strategy of so many clusters at a time, one unless it says more."""
    return {"type": "Progressive", "progressive": {"maxConcurrency": 1, **fields}}


def fleet(*names: str) -> Story:
    """Clusters, a placement of all of them in ns1, and nothing else; no pass has run."""
    return story(cluster_set(), binding(), placement(), *map(cluster, names))


def templates(told: Story) -> dict[str, str]:
    """Cluster to the template that it has."""
    return {one.cluster: one.template for one in decode_record(told.output(STATUS)).works}


def condition(told: Story, kind: str) -> tuple[str, str]:
    """Status and reason of a condition of the set as it is at the moment of the story."""
    status = as_of(told.world(), told.now).outputs[SHOP].body["status"]
    assert isinstance(status, dict)
    found = next(one for one in status["conditions"] if one["type"] == kind)
    return found["status"], found["reason"]


def report(told: Story, name: str, **conditions: str) -> Story:
    """Let the agent of a cluster report its work, of the template that it has."""
    body = _report(name, templates(told)[name], text_of(told.now), **conditions)
    told.files[f"feedback/{name}/{_work_of(name)}.yaml"] = text(body)
    return told


def report_of(name: str, wanted: Body, at: str, **conditions: str) -> Body:
    """What the agent of a cluster reports of its work, of the template of a set."""
    template = cast(Body, cast(Body, wanted["spec"])["manifestWorkTemplate"])
    return _report(name, template_id(template), at, **conditions)


def _report(name: str, template: str, at: str, **conditions: str) -> Body:
    return {
        "apiVersion": f"{WORK_GROUP}/v1",
        "kind": "ManifestWork",
        "metadata": {
            "name": _work_of(name),
            "namespace": name,
            "generation": 1,
            "annotations": {TEMPLATE: template},
        },
        "status": {
            "conditions": [
                {
                    "type": kind,
                    "status": status,
                    "reason": "Reported",
                    "message": "",
                    "observedGeneration": 1,
                    "lastTransitionTime": at,
                }
                for kind, status in conditions.items()
            ]
        },
    }


def _work_of(name: str) -> str:
    return work_name(SHOP, "p", ClusterName(name))


def succeed(told: Story, name: str) -> Story:
    """Let the agent of a cluster report that it has what it got."""
    return report(told, name, Applied="True", Available="True", Progressing="False")
