"""Which resources of the repository a placement selects, in the order of application."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

from reconciler.dialects.kubefleet.api.gojson import go_json, hash_of, sorted_keys
from reconciler.dialects.kubefleet.api.names import NAMESPACE, WITH_SELECTORS
from reconciler.dialects.kubefleet.api.resource_snapshot import encode_entry
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.snapshots.propagated_resources import (
    ENVELOPES,
    RESERVED,
    check_namespace,
    is_disabled,
    propagates,
)
from reconciler.dialects.kubefleet.snapshots.resource_chunks import Resource
from reconciler.dialects.kubefleet.snapshots.stripped_resources import strip
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.labels import LabelSelector, has_odd_labels, labels_of, matches
from reconciler.model.message_text import shown
from reconciler.model.selectors import decode_label_selector, refusal_of
from reconciler.model.world import Manifest

CORE_VERSION = "v1"
NAMESPACE_ONLY = "NamespaceOnly"
EVERYWHERE = "default"
"""A namespace that every cluster has."""

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


@dataclass(frozen=True, slots=True)
class SelectedResources:
    """What a placement selects, in the order of application; so many of it are envelopes."""

    resources: tuple[Resource, ...]
    envelopes: int = 0


def select_resources(
    selectors: Iterable[Body],
    inputs: Mapping[ObjectKey, Manifest],
    blobs: Mapping[str, str],
    known: KnownKinds,
    namespace: str = "",
    among: Iterable[Manifest] | None = None,
) -> SelectedResources:
    """Return what the selectors select, in the order of application.

    A selected namespace brings everything that is in it, unless its scope says otherwise. Unlike
    upstream: the namespace itself need not be written in the repository. A placement of a
    namespace selects namespaced kinds of its own namespace, reserved or not.

    Args:
        selectors: `spec.resourceSelectors`.
        inputs: What people wrote.
        blobs: Path to git blob id, so that the content can be found again.
        known: Scopes of kinds; of those of the scheduling APIs only envelopes are selected.
        namespace: The placement's, `""` for a cluster-scoped one.
        among: All that the selectors could select, and perhaps more; `None` for all inputs.

    Raises:
        UserError: A namespace is reserved, a resource is selected twice, a namespaced one without
            its namespace, a cluster-scoped one by a placement of a namespace, or a field has the
            wrong type.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `gatherSelectedResource`.
    """
    candidates = {
        item.key: item
        for item in (inputs.values() if among is None else among)
        if not is_disabled(item.key.group, item.key.kind, known.groups) and propagates(item, inputs)
    }
    chosen: dict[ObjectKey, Manifest] = {}
    listed = tuple(selectors)
    if namespace:
        found = _in_namespace(listed, candidates, known, namespace)
    else:
        partial = _partial_namespace(listed, candidates)
        found = (_selected(selector, candidates, partial) for selector in listed)
    for selected in found:
        for key, item in sorted(selected, key=itemgetter(0)):
            if key in chosen:
                raise UserError(f"{key} must be selected once", field="/spec/resourceSelectors")
            chosen[key] = item
    ordered = sorted(chosen.values(), key=_place)
    return SelectedResources(
        tuple(_resource(item, blobs) for item in ordered),
        sum((key.group, key.kind) in ENVELOPES for key in chosen),
    )


def _in_namespace(
    selectors: Iterable[Body],
    candidates: Mapping[ObjectKey, Manifest],
    known: KnownKinds,
    namespace: str,
) -> Iterator[Iterator[tuple[ObjectKey, Manifest]]]:
    """Yield what each selector of a placement of a namespace selects.

    Raises:
        UserError: A kind is cluster-scoped, or its version one that nothing serves.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `gatherSelectedResource` for a placement with a namespace.
    """
    scopes = {**known.scopes, **ENVELOPES}
    own = {key: item for key, item in candidates.items() if key.namespace == namespace}
    for selector in selectors:
        kind = kind_of(selector)
        if is_disabled(*kind, known.groups):
            continue
        version = fields.text(selector, "version")
        if not kind[0] and version != CORE_VERSION:
            raise UserError(
                f"the version of the core group must be {CORE_VERSION}, {shown(version)} is not",
                field="/spec/resourceSelectors",
            )
        if scopes.get(kind) is False:
            raise UserError(
                f"a {kind[1]} is cluster-scoped, so a placement of a namespace must not select it",
                field="/spec/resourceSelectors",
            )
        yield _matching(selector, own)


def kind_of(selector: Body) -> Kind:
    """Return the group and kind that a selector is for."""
    return fields.text(selector, "group"), fields.text(selector, "kind")


def _partial_namespace(
    selectors: Iterable[Body], candidates: Mapping[ObjectKey, Manifest]
) -> str | None:
    """Return the namespace of which other selectors say what is taken, `None` if there is none.

    It must be there, and stay: in the repository, or one that every cluster has.

    Raises:
        UserError: The selector is for none, or for several.
    """
    for selector in selectors:
        scope = fields.text(selector, "selectionScope")
        if kind_of(selector) == NAMESPACE and scope == WITH_SELECTORS:
            found = dict(_matching(selector, candidates))
            names = {key.name for key, one in found.items() if not _is_deleted(one)}
            named = fields.text(selector, "name")
            names |= {named} & {EVERYWHERE}
            allowed = sorted(name for name in names if not name.startswith(RESERVED))
            if not allowed and named and not named.startswith(RESERVED):
                raise UserError(
                    f"the namespace {shown(named)} must be in the repository, and not be deleted, "
                    f"to be selected with {WITH_SELECTORS}",
                    field="/spec/resourceSelectors",
                )
            if len(allowed) != 1:
                raise UserError(
                    f"exactly one namespace must be selected with {WITH_SELECTORS}, "
                    f"there are {len(allowed)}",
                    field="/spec/resourceSelectors",
                )
            return allowed[0]
    return None


def _is_deleted(manifest: Manifest) -> bool:
    metadata = fields.mapping(manifest.body, "metadata")
    return metadata.get("deletionTimestamp") is not None


def _matching(
    selector: Body, candidates: Mapping[ObjectKey, Manifest]
) -> Iterator[tuple[ObjectKey, Manifest]]:
    """Yield what is of the selector's kind and has its name or its labels.

    Raises:
        UnexpectedBehavior: The label selector cannot be read.
    """
    kind, name = kind_of(selector), fields.text(selector, "name")
    written = fields.mapping_or_none(selector, "labelSelector")
    labels = None if written is None or name else decode_label_selector(written)
    refusal = "" if labels is None else refusal_of(labels)
    if refusal:
        raise UnexpectedBehavior(refusal, field="/spec/resourceSelectors")
    for key, manifest in candidates.items():
        if (key.group, key.kind) == kind and _fits(manifest, name, labels):
            yield key, manifest


def may_match(selector: Body, manifest: Manifest) -> bool:
    """Return whether a selector could select an object by its name or its labels.

    What cannot be read it might, and so is looked at where it is an error.
    """
    if kind_of(selector) != manifest.key[:2]:
        return False
    name = fields.text(selector, "name")
    wanted = None if name else labels_of_selector(selector)
    if wanted is None:
        return not name or manifest.key.name == name
    return has_odd_labels(manifest.body) or matches(wanted, labels_of(manifest.body))


def labels_of_selector(selector: Body) -> LabelSelector | None:
    """Return the labels that a selector asks for, `None` if it asks for none."""
    written = selector.get("labelSelector")
    return decode_label_selector(written) if isinstance(written, Mapping) else None


def _selected(
    selector: Body, candidates: Mapping[ObjectKey, Manifest], partial: str | None
) -> Iterator[tuple[ObjectKey, Manifest]]:
    """Yield what one selector selects; a namespace's content comes once.

    Raises:
        UserError: A namespaced resource is selected without its namespace, or a namespace is
            reserved.
    """
    kind, name = kind_of(selector), fields.text(selector, "name")
    found = dict(_matching(selector, candidates))
    if kind != NAMESPACE:
        for key, manifest in sorted(found.items(), key=itemgetter(0)):
            if key.namespace and partial is None:
                raise UserError(
                    f"{key} is namespaced, so its namespace must be selected with {WITH_SELECTORS}",
                    field="/spec/resourceSelectors",
                )
            if key.namespace in ("", partial):
                yield key, manifest
        return
    if fields.text(selector, "selectionScope") not in (NAMESPACE_ONLY, WITH_SELECTORS):
        namespaces = {key.name for key in found} | ({name} - {""})
        for namespace in sorted(namespaces):
            check_namespace(namespace)
        found |= {k: item for k, item in candidates.items() if k.namespace in namespaces}
    yield from found.items()


def _fits(manifest: Manifest, name: str, labels: LabelSelector | None) -> bool:
    if name:
        return manifest.key.name == name
    fields.pairs_or_none(
        fields.mapping(manifest.body, "metadata"), "labels"
    )  # odd ones are refused
    return labels is None or matches(labels, labels_of(manifest.body))


def _place(manifest: Manifest) -> tuple[int, str, str, str]:
    key = manifest.key
    rank = ORDER.index(key.kind) if key.kind in ORDER else len(ORDER)
    version = fields.text(manifest.body, "apiVersion")
    kind = key.kind if rank == len(ORDER) else ""
    return rank, version, kind, f"{key.namespace}/{key.name}"


def content_of(body: Body) -> str:
    """Return what of an object goes to clusters, as the JSON of which snapshots hold the hash."""
    return go_json(sorted_keys(strip(body)))


def _resource(manifest: Manifest, blobs: Mapping[str, str]) -> Resource:
    content = content_of(manifest.body)
    key = manifest.key
    entry = encode_entry(
        fields.text(manifest.body, "apiVersion"),
        key,
        content_hash=hash_of(content),
        blob=blobs.get(manifest.origin.path, ""),
        document=manifest.origin.index,
        pointer=manifest.origin.pointer,
    )
    return Resource(entry, content)
