"""Resource snapshots: a new group of them whenever the selected resources change.

What goes to other clusters of a resource is everything but what only its own cluster knows.
Resources are packed into snapshots of limited size: a group is a master, and more where it has not
room for all.
"""

from collections.abc import Iterable, Mapping, Sequence

from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    IS_LATEST,
    NUMBER_OF_ENVELOPES,
    NUMBER_OF_SNAPSHOTS,
    PARENT,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    SUBINDEX,
    UnexpectedBehavior,
    as_count,
    as_integer,
)
from reconciler.dialects.kubefleet.api.snapshots import (
    Owner,
    SnapshotRevisions,
    annotations_of,
    encode_resources,
    hash_of_resources,
    index_of,
    is_latest,
    labels_of,
    marked,
    owned,
)
from reconciler.manifests.admission import without_ours
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.records import dataclass, replace

SIZE_LIMIT = 819_200  # resource_snapshot_resolver.go resourceSnapshotResourceSizeLimit, in bytes


@dataclass(frozen=True, slots=True)
class Resource:
    """A selected resource: what a snapshot says of it, and its JSON, which only counts.

    `older` is the JSON by rules before 4, `""` where that is the same.
    """

    entry: Body
    content: str
    older: str = ""


def split(resources: Sequence[Resource]) -> list[list[Resource]]:
    """Pack resources in order into chunks of limited size; there is one chunk at least.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `SplitSelectedResources`.
    """
    chunks: list[list[Resource]] = [[]]
    size = 0
    for resource in resources:
        length = len(resource.content.encode())
        if chunks[-1] and size + length > SIZE_LIMIT:
            chunks.append([])
            size = 0
        chunks[-1].append(resource)
        size += length
    return chunks


FIRST = -1


def snapshot_resources(
    owner: Owner,
    resources: Sequence[Resource] | None,
    snapshots: Iterable[Body],
    *,
    limit: int,
    envelopes: int = 0,
) -> SnapshotRevisions:
    """Return the resource snapshots of a placement as its resources want them.

    Other resources, or others in order, make a new group: a master, and more where they do not fit
    into one; the oldest groups make room. The same resources complete what is missing of the group.

    Args:
        owner: The placement; its generation has no influence.
        resources: In order of application, `None` if the list is absent.
        snapshots: All resource snapshots, in whatever order.
        limit: How many groups may exist, one or more.
        envelopes: How many of the resources are envelopes.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `GetOrCreateResourceSnapshot`.
    """
    present = SnapshotRevisions(snapshots=owned(snapshots, owner))
    digest = resources_hash(resources)
    chunks = split(resources or ())
    try:
        name, index = _latest(present)
        if name and _same(present.snapshots[name], digest, resources):
            return _complete(present, name, owner, chunks, index)
    except UnexpectedBehavior as error:
        return replace(present, error=error)
    if name and is_latest(present.snapshots[name]):
        retired = marked(present.snapshots[name], latest=False)
        present = replace(present, snapshots={**present.snapshots, name: retired})
    try:
        pruned = _prune(present, limit)
    except UnexpectedBehavior as error:
        return replace(present, error=error)
    annotations = {
        RESOURCE_HASH: digest,
        NUMBER_OF_SNAPSHOTS: str(len(chunks)),
        NUMBER_OF_ENVELOPES: str(envelopes),
    }
    master = _master(owner, index + 1, chunks[0], annotations)
    rest = [_sub(owner, index + 1, i, chunk) for i, chunk in enumerate(chunks[1:])]
    return replace(_create(pruned, (master, *rest)), latest=_name(master))


def resources_hash(resources: Sequence[Resource] | None) -> str:
    """Return the hash of selected resources, in order; `None` stands for an absent list."""
    contents = None if resources is None else ",".join(item.content for item in resources)
    listed = "null" if contents is None else f"[{contents}]"
    return hash_of_resources(listed)


def _name(body: Body) -> str:
    return fields.text(fields.mapping(body, "metadata"), "name")


def _latest(present: SnapshotRevisions) -> tuple[str, int]:
    """Return the master in force, else the last of the highest index, and its index."""
    labelled = [name for name, body in present.snapshots.items() if is_latest(body)]
    masters = [n for n in labelled if annotations_of(present.snapshots[n]).get(RESOURCE_HASH)]
    if labelled and not masters:
        raise UnexpectedBehavior("no master resource snapshot found")
    if masters:
        return masters[0], index_of(present.snapshots[masters[0]], RESOURCE_INDEX)
    ordered = _ordered(present)
    return (ordered[-1][2], ordered[-1][0]) if ordered else ("", FIRST)


def _ordered(present: SnapshotRevisions) -> list[tuple[int, float, str]]:
    """Return index, subindex and name of all, ascending; the master ends its group.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `listSortedResourceSnapshots`.
    """
    return sorted(
        (index_of(body, RESOURCE_INDEX), _subindex(body), name)
        for name, body in present.snapshots.items()
    )


def _subindex(body: Body) -> float:
    written = annotations_of(body).get(SUBINDEX)
    if written is None:
        return float("inf")
    number = as_integer(written)
    if number is None or number < 0:
        raise UnexpectedBehavior(f'"{written}" of {SUBINDEX} must be an integer of zero or more')
    return number


def _same(body: Body, digest: str, resources: Sequence[Resource] | None) -> bool:
    """Return whether a master is of the same resources; it must say how many its group has.

    One that rules before 4 made is, too, where annotations for us are all that differs.
    """
    known = annotations_of(body).get(RESOURCE_HASH)
    if known is None:
        raise UnexpectedBehavior(f"cannot find annotation {RESOURCE_HASH}")
    as_count(annotations_of(body).get(NUMBER_OF_SNAPSHOTS), NUMBER_OF_SNAPSHOTS)
    if known == digest or resources is None or not any(one.older for one in resources):
        return known == digest
    older = [replace(one, content=one.older or one.content) for one in resources]
    return known == resources_hash(older)


def _complete(
    present: SnapshotRevisions,
    name: str,
    owner: Owner,
    chunks: Sequence[Sequence[Resource]],
    index: int,
) -> SnapshotRevisions:
    """Label the master as latest, and create what is missing of its group."""
    body = present.snapshots[name]
    done = replace(present, latest=name)
    if not is_latest(body):
        done = replace(
            done,
            snapshots={**done.snapshots, name: marked(body, latest=True)},
        )
    label = labels_of(body).get(RESOURCE_INDEX)
    group = [b for b in done.snapshots.values() if labels_of(b).get(RESOURCE_INDEX) == label]
    if len(group) == as_count(annotations_of(body).get(NUMBER_OF_SNAPSHOTS), NUMBER_OF_SNAPSHOTS):
        return done
    missing = enumerate(chunks[len(group) :], start=len(group) - 1)
    return _create(done, [_sub(owner, index, i, chunk) for i, chunk in missing])


def _create(present: SnapshotRevisions, bodies: Iterable[Body]) -> SnapshotRevisions:
    fresh = {_name(body): body for body in bodies}
    return replace(
        present,
        snapshots={**present.snapshots, **fresh},
    )


def _prune(present: SnapshotRevisions, limit: int) -> SnapshotRevisions:
    """Remove the oldest groups until there is room for one more.

    Nothing goes while there are fewer objects than the limit, however they are grouped.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `deleteRedundantResourceSnapshots`.
    """
    ordered = _ordered(present)
    indices = sorted({index for index, _, _ in ordered}, reverse=True)
    staying = set(indices if len(ordered) < limit else indices[: limit - 1])
    surplus = [name for index, _, name in reversed(ordered) if index not in staying]
    return replace(
        present,
        snapshots={name: body for name, body in present.snapshots.items() if name not in surplus},
    )


def _master(
    owner: Owner, index: int, chunk: Sequence[Resource], annotations: dict[str, str]
) -> Body:
    labels = {PARENT: owner.name, IS_LATEST: "true", RESOURCE_INDEX: str(index)}
    return _snapshot(f"{owner.name}-{index}-snapshot", owner, labels, annotations, chunk)


def _sub(owner: Owner, index: int, subindex: int, chunk: Sequence[Resource]) -> Body:
    labels = {PARENT: owner.name, RESOURCE_INDEX: str(index)}
    annotations = {SUBINDEX: str(subindex)}
    return _snapshot(f"{owner.name}-{index}-{subindex}", owner, labels, annotations, chunk)


def _snapshot(
    name: str,
    owner: Owner,
    labels: dict[str, str],
    annotations: dict[str, str],
    chunk: Sequence[Resource],
) -> Body:
    return {
        "apiVersion": API_VERSION,
        "kind": owner.kinds.resource_snapshot,
        "metadata": {
            **owner.identity(name),
            "generation": 1,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner.reference],
        },
        "spec": encode_resources(resource.entry for resource in chunk),
    }


_METADATA = (
    "resourceVersion",
    "generation",
    "uid",
    "selfLink",
    "deletionTimestamp",
    "managedFields",
    "ownerReferences",
    "creationTimestamp",
)
_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
)
_CONTROLLER_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_HEADLESS = "None"


def strip(body: Body, *, ours: bool = False) -> Body:
    """Return a resource without what only its own cluster knows.

    Unlike upstream: annotations for us are left out as well, or suspending an object would begin a
    rollout. With `ours` they stay, as rules before 4 had it.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `generateRawContent`.
    """
    body = body if ours else without_ours(body)
    metadata = without(fields.mapping(body, "metadata"), *_METADATA)
    annotations = fields.mapping_or_none(metadata, "annotations")
    if annotations is not None:
        metadata = without(metadata, "annotations")
        annotations_kept = without(annotations, *_ANNOTATIONS)
        if annotations_kept:
            metadata = {**metadata, "annotations": annotations_kept}
    stripped = {**without(body, "status"), "metadata": metadata}
    identity = (body.get("apiVersion"), body.get("kind"))
    spec = body.get("spec")
    if identity == ("v1", "Service") and isinstance(spec, Mapping):
        return {**stripped, "spec": _service(spec)}
    if identity == ("batch/v1", "Job") and isinstance(spec, Mapping):
        return {**stripped, "spec": _job(spec)}
    return stripped


def without(body: Body, *names: str) -> Body:
    """Return a mapping without these keys.

    >>> without({"a": 1, "b": 2}, "b", "c")
    {'a': 1}
    """
    return {name: value for name, value in body.items() if name not in names}


def _service(spec: Body) -> Body:
    """Drop addresses and ports that the cluster gave; a headless service says so and keeps it."""
    address = spec.get("clusterIP")
    if isinstance(address, str) and address != _HEADLESS:
        spec = without(spec, "clusterIP", "clusterIPs")
    spec = without(spec, "healthCheckNodePort")
    ports = spec.get("ports")
    if isinstance(ports, list | tuple):
        stripped = [without(p, "nodePort") if isinstance(p, Mapping) else p for p in ports]
        return {**spec, "ports": stripped}
    return spec


def _job(spec: Body) -> Body:
    """Drop the selector and labels that the cluster gave, unless a person manages them."""
    if spec.get("manualSelector") is True:
        return spec
    for path in (("selector", "matchLabels"), ("template", "metadata", "labels")):
        for label in _CONTROLLER_LABELS:
            spec = _removed(spec, *path, label)
    return _removed(spec, "template", "metadata", "creationTimestamp")


def _removed(body: Body, name: str, *path: str) -> Body:
    """Return a mapping without the field at a path."""
    if not path:
        return without(body, name)
    below = body.get(name)
    return {**body, name: _removed(below, *path)} if isinstance(below, Mapping) else body


def snapshot_group(master: str, snapshots: Iterable[Body]) -> tuple[Body, ...]:
    """Return the snapshots of the group of a master, which comes first, in their order.

    Args:
        master: Its name.
        snapshots: All of the placement.

    Raises:
        UnexpectedBehavior: The master is missing, does not say how many there are, or there are
            more or fewer of them.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `FetchAllResourceSnapshots`.
    """
    bodies_by_name = {text(mapping(one, "metadata"), "name"): one for one in snapshots}
    if master not in bodies_by_name:
        raise UnexpectedBehavior(f"the master resource snapshot {master} is not found")
    first = bodies_by_name[master]
    index = group_index(first)
    others = [
        one for name, one in bodies_by_name.items() if name != master and group_index(one) == index
    ]
    count = as_count(annotations_of(first).get(NUMBER_OF_SNAPSHOTS), NUMBER_OF_SNAPSHOTS)
    if count != len(others) + 1:
        raise UnexpectedBehavior(
            f"the resource snapshot {master} is one of {count}, there are {len(others) + 1}"
        )
    by_place = {as_count(subindex_of(one), SUBINDEX): one for one in others}
    return (first, *(by_place[place] for place in sorted(by_place)))


def group_index(snapshot: Body) -> str:
    """Return the index of the group of a snapshot."""
    return labels_of(snapshot).get(RESOURCE_INDEX, "")


def subindex_of(snapshot: Body) -> str | None:
    """Return the place of a snapshot in its group, `None` for the master."""
    return annotations_of(snapshot).get(SUBINDEX)
