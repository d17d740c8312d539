"""Which resources of the repository a placement selects, in the order of application."""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.dialects.kubefleet.gojson import go_json, hash_of, sorted_keys
from reconciler.dialects.kubefleet.resource_snapshots import Resource
from reconciler.manifests.identify import OUR_GROUPS
from reconciler.model import fields
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, matches
from reconciler.model.selectors import decode_label_selector
from reconciler.model.world import Body, Manifest

NAMESPACE = ("", "Namespace")
NAMESPACE_ONLY = "NamespaceOnly"
WITH_SELECTORS = "NamespaceWithResourceSelectors"

ORDER = (
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
"""Kinds in the order of application; all others come last.

Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go `sortResources`.
"""

_DROPPED_METADATA = (
    "resourceVersion",
    "generation",
    "uid",
    "selfLink",
    "deletionTimestamp",
    "managedFields",
    "ownerReferences",
    "creationTimestamp",
)
_DROPPED_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
)


def select_resources(
    selectors: Iterable[Body],
    inputs: Mapping[ObjectKey, Manifest],
    blobs: Mapping[str, str],
) -> list[Resource]:
    """Return what the selectors select, each resource once, in the order of application.

    A selected namespace brings everything that is in it, unless its scope says otherwise. Unlike
    upstream: the namespace itself need not be written in the repository.

    Args:
        selectors: `spec.resourceSelectors`.
        inputs: What people wrote; objects of the scheduling APIs are never selected.
        blobs: Path to git blob id, so that the content can be found again.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `gatherSelectedResource`.
    """
    candidates = {key: item for key, item in inputs.items() if key.group not in OUR_GROUPS}
    chosen: dict[ObjectKey, Manifest] = {}
    listed = tuple(selectors)
    partial = _partial_namespaces(listed)
    for selector in listed:
        chosen.update(_selected(selector, candidates, partial))
    return [
        _resource(chosen[key], blobs) for key in sorted(chosen, key=lambda k: _place(chosen[k]))
    ]


def _kind_of(selector: Body) -> tuple[str, str]:
    return fields.text(selector, "group"), fields.text(selector, "kind")


def _partial_namespaces(selectors: Iterable[Body]) -> frozenset[str]:
    """Return the namespaces of which other selectors say what is taken."""
    return frozenset(
        fields.text(item, "name")
        for item in selectors
        if _kind_of(item) == NAMESPACE and fields.text(item, "selectionScope") == WITH_SELECTORS
    )


def _selected(
    selector: Body, candidates: Mapping[ObjectKey, Manifest], partial: frozenset[str]
) -> Iterator[tuple[ObjectKey, Manifest]]:
    kind, name = _kind_of(selector), fields.text(selector, "name")
    written = fields.mapping_or_none(selector, "labelSelector")
    labels = None if written is None or name else decode_label_selector(written)
    namespaces = {name} if kind == NAMESPACE and name else set[str]()
    for key, manifest in candidates.items():
        if (key.group, key.kind) != kind or not _fits(manifest, name, labels):
            continue
        if key.namespace and key.namespace not in partial:
            continue
        yield key, manifest
        if kind == NAMESPACE:
            namespaces.add(key.name)
    if fields.text(selector, "selectionScope") not in (NAMESPACE_ONLY, WITH_SELECTORS):
        yield from ((k, item) for k, item in candidates.items() if k.namespace in namespaces)


def _fits(manifest: Manifest, name: str, labels: LabelSelector | None) -> bool:
    if name:
        return manifest.key.name == name
    found = fields.pairs_or_none(fields.mapping(manifest.body, "metadata"), "labels")
    return labels is None or matches(labels, dict(found or ()))


def _place(manifest: Manifest) -> tuple[int, str, str, str]:
    key = manifest.key
    rank = ORDER.index(key.kind) if key.kind in ORDER else len(ORDER)
    version = fields.text(manifest.body, "apiVersion")
    kind = key.kind if rank == len(ORDER) else ""
    return rank, version, kind, f"{key.namespace}/{key.name}"


def _resource(manifest: Manifest, blobs: Mapping[str, str]) -> Resource:
    content = go_json(sorted_keys(_stripped(manifest.body)))
    key = manifest.key
    scope = {"namespace": key.namespace} if key.namespace else {}
    entry = {
        "apiVersion": fields.text(manifest.body, "apiVersion"),
        "kind": key.kind,
        "metadata": {**scope, "name": key.name},
        "hash": hash_of(content),
        "blob": blobs.get(manifest.origin.path, ""),
        "document": manifest.origin.index,
    }
    return Resource(entry, content)


def _stripped(body: Body) -> Body:
    """Return a resource without what only its own cluster knows.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `generateRawContent`.
    """
    metadata = {
        name: value
        for name, value in fields.mapping(body, "metadata").items()
        if name not in _DROPPED_METADATA
    }
    annotations = fields.mapping_or_none(metadata, "annotations")
    if annotations is not None:
        metadata["annotations"] = {
            name: value for name, value in annotations.items() if name not in _DROPPED_ANNOTATIONS
        }
    rest = {name: value for name, value in body.items() if name != "status"}
    return {**rest, "metadata": metadata}
