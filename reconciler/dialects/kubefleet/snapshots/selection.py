"""Which resources of the repository a placement selects, in the order of application.

Some resources never leave their own cluster, whatever selects them. A placement is asked again only
where something changed that it could select.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from operator import itemgetter

from reconciler.dialects import reads
from reconciler.dialects.kubefleet.api.names import (
    NAMESPACE,
    PLACEMENT_GROUP,
    WITH_SELECTORS,
    UnexpectedBehavior,
    go_json,
    hash_of,
    sorted_keys,
)
from reconciler.dialects.kubefleet.api.snapshots import encode_entry
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import Resource, strip
from reconciler.dialects.reads import Followed, FollowedIndex, Question, ReadTable, RecordedMapping
from reconciler.errors import UserError
from reconciler.manifests.admission import without_ours
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.labels import (
    LabelSelector,
    decode_label_selector,
    has_odd_labels,
    labels_of,
    matches,
    refusal_of,
)
from reconciler.model.records import dataclass, field
from reconciler.model.text import shown
from reconciler.model.world import Manifest, World

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
    known_kinds: KnownKinds,
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
        known_kinds: Scopes of kinds; of those of the scheduling APIs only envelopes are selected.
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
        if not is_disabled(item.key.group, item.key.kind, known_kinds.groups)
        and propagates(item, inputs)
    }
    chosen: dict[ObjectKey, Manifest] = {}
    listed = tuple(selectors)
    if namespace:
        selected_parts = _in_namespace(listed, candidates, known_kinds, namespace)
    else:
        partial = _partial_namespace(listed, candidates)
        selected_parts = (_selected(selector, candidates, partial) for selector in listed)
    for selected in selected_parts:
        for key, resource in sorted(selected, key=itemgetter(0)):
            if key in chosen:
                raise UserError(f"{key} must be selected once", field="/spec/resourceSelectors")
            chosen[key] = resource
    ordered = sorted(chosen.values(), key=_place)
    return SelectedResources(
        tuple(_resource(item, blobs) for item in ordered),
        sum((key.group, key.kind) in ENVELOPES for key in chosen),
    )


def _in_namespace(
    selectors: Iterable[Body],
    candidates: Mapping[ObjectKey, Manifest],
    known_kinds: KnownKinds,
    namespace: str,
) -> Iterator[Iterator[tuple[ObjectKey, Manifest]]]:
    """Yield what each selector of a placement of a namespace selects.

    Raises:
        UserError: A kind is cluster-scoped, or its version one that nothing serves.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `gatherSelectedResource` for a placement with a namespace.
    """
    scopes = {**known_kinds.scopes, **ENVELOPES}
    own = {key: item for key, item in candidates.items() if key.namespace == namespace}
    for selector in selectors:
        kind = kind_of(selector)
        if is_disabled(*kind, known_kinds.groups):
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
            matching_resources = dict(_matching(selector, candidates))
            names = {key.name for key, one in matching_resources.items() if not _is_deleted(one)}
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


def may_select(selector: Body, namespace: str) -> Iterator[Question]:
    """Yield questions one of which each object answers that a placement may select.

    Args:
        selector: One of its selectors.
        namespace: The placement's, `""` for a cluster-scoped one.
    """
    kind, name = kind_of(selector), fields.text(selector, "name")
    if name and namespace:
        yield ObjectKey(*kind, namespace, name)
        return
    yield from reads.selected(kind, name, None if name else labels_of_selector(selector))
    if kind == NAMESPACE and name:
        yield reads.within(name)  # its Namespace need not be there


def _selected(
    selector: Body, candidates: Mapping[ObjectKey, Manifest], partial: str | None
) -> Iterator[tuple[ObjectKey, Manifest]]:
    """Yield what one selector selects; a namespace's content comes once.

    Raises:
        UserError: A namespaced resource is selected without its namespace, or a namespace is
            reserved.
    """
    kind, name = kind_of(selector), fields.text(selector, "name")
    matching_resources = dict(_matching(selector, candidates))
    if kind != NAMESPACE:
        for key, manifest in sorted(matching_resources.items(), key=itemgetter(0)):
            if key.namespace and partial is None:
                raise UserError(
                    f"{key} is namespaced, so its namespace must be selected with {WITH_SELECTORS}",
                    field="/spec/resourceSelectors",
                )
            if key.namespace in ("", partial):
                yield key, manifest
        return
    if fields.text(selector, "selectionScope") not in (NAMESPACE_ONLY, WITH_SELECTORS):
        namespaces = {key.name for key in matching_resources} | ({name} - {""})
        for namespace in sorted(namespaces):
            check_namespace(namespace)
        matching_resources |= {
            k: item for k, item in candidates.items() if k.namespace in namespaces
        }
    yield from matching_resources.items()


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


def content_of(body: Body, *, ours: bool = False) -> str:
    """Return what of an object goes to clusters, as the JSON of which snapshots hold the hash.

    With `ours` as rules before 4 had it, with annotations for us.
    """
    return go_json(sorted_keys(strip(body, ours=ours)))


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
    noted = without_ours(manifest.body) is not manifest.body
    return Resource(entry, content, content_of(manifest.body, ours=True) if noted else "")


ENVELOPES: Mapping[Kind, bool] = {
    (PLACEMENT_GROUP, "ClusterResourceEnvelope"): False,
    (PLACEMENT_GROUP, "ResourceEnvelope"): True,
}
"""Whether each kind of envelope is namespaced."""
RESERVED = ("fleet-", "kube-")

_GROUPS = frozenset({"coordination.k8s.io", "events.k8s.io", "metrics.k8s.io"})
_NETWORKING = "networking.fleet.azure.com"
_KINDS = frozenset(
    {
        ("", "Node"),
        ("", "Pod"),
        (_NETWORKING, "ServiceImport"),
        (_NETWORKING, "TrafficManagerBackend"),
        (_NETWORKING, "TrafficManagerProfile"),
    }
)
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"


def is_disabled(group: str, kind: str, apis: Container[str]) -> bool:
    """Return whether a kind is never selected; of the scheduling APIs only envelopes are.

    Args:
        group: Of the kind.
        kind: Its name.
        apis: Groups of the scheduling APIs.

    Source: kubefleet@e160c1c pkg/utils/apiresources.go `NewResourceConfig`.

    >>> is_disabled("", "Pod", ()), is_disabled("apps", "Deployment", ())
    (True, False)
    """
    if (group, kind) in ENVELOPES:
        return False
    return group in apis or group in _GROUPS or (group, kind) in _KINDS


def propagates(manifest: Manifest, inputs: Mapping[ObjectKey, Manifest]) -> bool:
    """Return whether an object may leave its cluster, or is made by the cluster itself.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `ShouldPropagateObj`; PersistentVolumeClaims go along, since no workload runs on the hub.
    """
    key = manifest.key
    metadata = fields.mapping(manifest.body, "metadata")
    if metadata.get("deletionTimestamp"):
        return False
    match key.group, key.kind:
        case "apps", "ReplicaSet" | "ControllerRevision":
            return not metadata.get("ownerReferences")
        case "", "ConfigMap":
            return key.name != "kube-root-ca.crt"
        case "", "ServiceAccount":
            return key.name != "default"
        case "", "Secret":
            return manifest.body.get("type") != "kubernetes.io/service-account-token"
        case "", "Endpoints":
            return ObjectKey("", "Service", key.namespace, key.name) not in inputs
        case "discovery.k8s.io", "EndpointSlice":
            return _MANAGED_BY not in fields.mapping(metadata, "labels")
    return True


def check_namespace(name: str) -> None:
    """Refuse the namespaces that belong to Kubernetes and to the fleet.

    Unlike upstream: `default` may be placed. An object without a namespace stands there, so it is
    where a small repository has everything.

    Raises:
        UserError: It is reserved.

    Source: kubefleet@e160c1c pkg/utils/common.go `ShouldPropagateNamespace`.
    """
    if name.startswith(RESERVED):
        raise UserError(
            f"the namespace {name} must not be placed, names that begin with "
            f"{' or '.join(RESERVED)} are reserved",
            field="/spec/resourceSelectors",
        )


SERVICE = ("", "Service")
ENDPOINTS = ("", "Endpoints")


@dataclass(frozen=True, slots=True)
class PlacementQuestion:
    """A placement as far as its selection goes; `body` is its document."""

    key: ObjectKey
    body: Body
    selectors: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the document of a placement selects."""

    body: Body
    selection: SelectedResources


class SelectableDocuments:
    """The documents of a world as selectors ask for them; each question is recorded.

    Attributes:
        reads: What was asked.
        inputs: Documents by key.
        blobs: Path to git blob id.
        known: Scopes of kinds.
    """

    def __init__(self, world: World, content: FollowedIndex[str, Manifest]) -> None:
        """Look into a world, of which `content` has the documents by namespace."""
        self.reads = set[Question]()
        self.inputs = RecordedMapping(
            world.inputs, lambda key: reads.named(key[:2], key.name), self.reads
        )
        self.blobs = RecordedMapping(world.blobs, reads.in_file, self.reads)
        self.known = world.known
        self._of_kind, self._content = world.of_kind, content

    def of_kind(self, kind: Kind, name: str, labels: LabelSelector | None) -> Iterable[Manifest]:
        """Return the documents of a kind, among them all that have the name, or the labels."""
        self.reads.update(reads.selected(kind, name, labels))
        return self._of_kind(*kind)

    def within(self, namespace: str) -> Iterable[Manifest]:
        """Return the documents of a namespace."""
        self.reads.add(reads.within(namespace))
        return self._content.found(namespace).values()


def _by_namespace() -> FollowedIndex[str, Manifest]:
    """Return an index of documents by namespace."""
    return FollowedIndex(lambda key, _: (key.namespace,))


@dataclass(slots=True, eq=False)
class SelectionTable:
    """The selections of one repository, in the round that looked last.

    Attributes:
        drawn: How many selections were drawn so far.
    """

    drawn: int = 0
    _table: ReadTable[_Answer] = field(default_factory=ReadTable)
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _blobs: Followed[str, str] = field(default_factory=Followed)
    _content: FollowedIndex[str, Manifest] = field(default_factory=_by_namespace)
    _known: KnownKinds | None = None

    def select(self, asked: PlacementQuestion, world: World) -> SelectedResources:
        """Return what a placement selects, the same object as before if nothing of it differs.

        Raises:
            UserError: See `select_resources`.
        """
        self._follow(world)
        selection = self._table.find(asked.key)
        if selection is not None and selection.body is asked.body:
            return selection.selection
        self.drawn += 1
        documents = SelectableDocuments(world, self._content)
        drawn = _draw(asked, documents)
        before = self._table.latest(asked.key)
        if before is not None and before.selection == drawn:
            drawn = before.selection
        answer = _Answer(asked.body, drawn)
        self._table.settle(asked.key, answer, frozenset(documents.reads), None)
        return drawn

    def follow(self, world: World, gone: Iterable[ObjectKey]) -> None:
        """Go on to the world of the next round, and drop what placements that are gone select."""
        self._table.drop_all(gone)
        if self._table:
            self._follow(world)
        else:
            self._inputs, self._blobs, self._content = Followed(), Followed(), _by_namespace()

    @property
    def stale(self) -> Collection[ObjectKey]:
        """The placements that may select something else than before."""
        return self._table.unsettled

    def _follow(self, world: World) -> None:
        """Find out what may select something else in a world than in the one asked last."""
        if self._known != world.known:
            self._table.unsettle_all()
            self._known = world.known
        entries, paths = self._inputs.follow(world.inputs), self._blobs.keys(world.blobs)
        self._content.follow(world.inputs)
        if self._table:
            versions = (one for entry in entries for one in entry[1:] if one is not None)
            questions = {question for one in versions for question in reads.about(one)}
            questions |= {*map(reads.in_file, paths)}
            self._table.affected(questions, ())


def _draw(asked: PlacementQuestion, documents: SelectableDocuments) -> SelectedResources:
    """Return what a placement selects.

    Raises:
        UserError: See `select_resources`.
    """
    return select_resources(
        asked.selectors,
        documents.inputs,
        documents.blobs,
        documents.known,
        asked.key.namespace,
        _among(asked, documents),
    )


def _among(asked: PlacementQuestion, documents: SelectableDocuments) -> Iterator[Manifest]:
    """Yield what the selectors could select, and perhaps more."""
    for selector in asked.selectors:
        kind, name = kind_of(selector), fields.text(selector, "name")
        one_scope = asked.key.namespace or documents.known.scopes.get(kind) is False
        if name and one_scope and kind != NAMESPACE:
            manifest = documents.inputs.get(ObjectKey(*kind, asked.key.namespace, name))
            yield from () if manifest is None else (manifest,)
            continue
        listed = documents.of_kind(kind, name, None if name else labels_of_selector(selector))
        yield from listed
        if kind == NAMESPACE and not asked.key.namespace:
            names = {one.key.name for one in listed if may_match(selector, one)}
            for namespace in sorted((names | {name}) - {""}):
                yield from documents.within(namespace)
