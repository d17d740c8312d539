"""Resource snapshots: a new group of them whenever the selected resources change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    CANDIDATE_SEEN_AT,
    IS_LATEST,
    NUMBER_OF_ENVELOPES,
    NUMBER_OF_SNAPSHOTS,
    PARENT,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    SUBINDEX,
)
from reconciler.dialects.kubefleet.api.resource_snapshot import encode_resources, hash_of_resources
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior, as_count, as_integer
from reconciler.dialects.kubefleet.snapshots.resource_chunks import Resource, split
from reconciler.dialects.kubefleet.snapshots.revision import (
    Owner,
    SnapshotRevisions,
    annotations_of,
    index_of,
    is_latest,
    labels_of,
    marked,
    owned,
    relabelled,
)
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.moments import add, format_moment, is_moment, parse_moment

FIRST = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long changes are collected, and how long at least a snapshot stays the latest."""

    collection: timedelta = timedelta()
    minimum: timedelta = timedelta()


AT_ONCE = Pace()


def snapshot_resources(
    owner: Owner,
    resources: Sequence[Resource] | None,
    snapshots: Iterable[Body],
    now: datetime,
    *,
    limit: int,
    pace: Pace = AT_ONCE,
    envelopes: int = 0,
) -> SnapshotRevisions:
    """Return the resource snapshots of a placement as its resources want them.

    Other resources, or others in order, make a new group: a master, and more where they do not fit
    into one; the oldest groups make room. The same resources complete what is missing of the group.

    Args:
        owner: The placement; its generation has no influence.
        resources: In order of application, `None` if the list is absent.
        snapshots: All resource snapshots, in whatever order.
        now: Aware UTC.
        limit: How many groups may exist, one or more.
        pace: Whether a change is held back for a while.
        envelopes: How many of the resources are envelopes.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `GetOrCreateResourceSnapshot`.
    """
    present = SnapshotRevisions(snapshots=owned(snapshots, owner))
    digest = resources_hash(resources)
    chunks = split(resources or ())
    try:
        name, index = _latest(present)
        if name and _same(present.snapshots[name], digest):
            return _complete(present, name, owner, chunks, index)
    except UnexpectedBehavior as error:
        return replace(present, error=error)
    if name and is_latest(present.snapshots[name]):
        held = _hold_back(present, name, now, pace)
        if held.until is not None:
            return held
        retired = marked(held.snapshots[name], latest=False)
        present = replace(
            held,
            snapshots={**held.snapshots, name: retired},
        )
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


def _same(body: Body, digest: str) -> bool:
    """Return whether a master is of the same resources; it must say how many its group has."""
    known = annotations_of(body).get(RESOURCE_HASH)
    if known is None:
        raise UnexpectedBehavior(f"cannot find annotation {RESOURCE_HASH}")
    as_count(annotations_of(body).get(NUMBER_OF_SNAPSHOTS), NUMBER_OF_SNAPSHOTS)
    return known == digest


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


def _hold_back(
    present: SnapshotRevisions, name: str, now: datetime, pace: Pace
) -> SnapshotRevisions:
    """Wait until changes were collected for long enough and the latest has had its time.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `shouldCreateNewResourceSnapshotNow`.
    """
    if pace.minimum <= timedelta() and pace.collection <= timedelta():
        return present
    body = present.snapshots[name]
    seen = annotations_of(body).get(CANDIDATE_SEEN_AT, "")
    if not is_moment(seen):
        seen = format_moment(now)
        body = relabelled(body, annotations={CANDIDATE_SEEN_AT: seen})
    collected_at = add(parse_moment(seen), pace.collection)
    created = fields.text(fields.mapping(body, "metadata"), "creationTimestamp")
    ripe_at = add(parse_moment(created), pace.minimum) if created else collected_at
    until = max(collected_at, ripe_at)
    return replace(
        present,
        snapshots={**present.snapshots, name: body},
        latest=name,
        until=until if now < until else None,
    )


def _prune(present: SnapshotRevisions, limit: int) -> SnapshotRevisions:
    """Remove the oldest groups until there is room for one more.

    Nothing goes while there are fewer objects than the limit, however they are grouped.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `deleteRedundantResourceSnapshots`.
    """
    ordered = _ordered(present)
    indices = sorted({index for index, _, _ in ordered}, reverse=True)
    kept = set(indices if len(ordered) < limit else indices[: limit - 1])
    surplus = [name for index, _, name in reversed(ordered) if index not in kept]
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
