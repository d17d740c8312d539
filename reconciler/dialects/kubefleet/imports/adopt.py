"""Live bindings and snapshots as state of ours, placement by placement."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.dialects.importer import Adopted
from reconciler.dialects.kubefleet.api.binding import decode_binding
from reconciler.dialects.kubefleet.api.kinds import (
    OWNED,
    POLICY_SNAPSHOTS,
    kinds_in,
    named_in,
    placement_key,
)
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    CRP_GENERATION,
    GROUP,
    IS_LATEST,
    NUMBER_OF_CLUSTERS,
    PARENT,
    POLICY_INDEX,
    RESOURCE_INDEX,
)
from reconciler.dialects.kubefleet.api.policy_snapshot import (
    decode_policy_status,
    encode_policy_status,
)
from reconciler.dialects.kubefleet.api.resource_snapshot import readable_entries, resource_key
from reconciler.dialects.kubefleet.fleets import Fleets
from reconciler.dialects.kubefleet.imports.adopted_bindings import adopted_binding
from reconciler.dialects.kubefleet.imports.past_snapshots import past_snapshots
from reconciler.dialects.kubefleet.plan import KubeFleet
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import snapshot_resources
from reconciler.dialects.kubefleet.snapshots.revision import (
    Owner,
    annotations_of,
    is_latest,
    labels_of,
)
from reconciler.dialects.kubefleet.view.snapshot_rendering import snapshot_file
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.fields import mapping, number, text
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import stamp
from reconciler.model.settings import settings_in
from reconciler.model.world import World

Live = Mapping[ObjectKey, Body]


def adopt(world: World, live: Live, now: datetime) -> Adopted:
    """Return the state of the live placements that are in the repository.

    Names of bindings and snapshots stay. A snapshot of resources holds their identity and hash
    here, so the latest is written from the repository under its live name: equal resources are no
    new snapshot, and no rollout begins. Earlier ones that bindings are on come as they are on the
    hub, so that a rollout that has begun stays where it is.
    """
    fleets = KubeFleet().prepare(world, settings_in(world), now)
    parts: dict[ObjectKey, dict[ObjectKey, Body]] = {}
    left: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    for key, body in live.items():
        if key.group != GROUP or key.kind not in OWNED:
            continue
        owner = placement_key(key.namespace, labels_of(body).get(PARENT, ""))
        if mapping(body, "metadata").get("deletionTimestamp"):
            left[key] = "it is being deleted"
        elif not owner.name:
            left[key] = f"it has no label {PARENT}, which says whose it is"
        elif owner not in fleets.placements:
            lacking[key] = owner
        else:
            parts.setdefault(owner, {})[key] = body
    outputs: dict[ObjectKey, Body] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    for owner in sorted(parts):
        outputs |= _placement(fleets, owner, live.get(owner, {}), parts[owner], now)
        past = past_snapshots(world, _owner(owner, outputs[owner]), parts[owner])
        for key, body in past.snapshots.items():
            outputs[key] = snapshot_file(key, body, stamp(now))
        contents |= past.contents
        left |= past.left
    for found in parts.values():
        left |= {key: _why_no_state(key, found) for key in found if key not in outputs}
    missing = {
        resource: owner
        for owner, found in sorted(parts.items())
        for resource in _latest_resources(owner, found)
        if resource not in world.inputs
    }
    return Adopted(outputs=outputs, left=left, lacking=lacking, missing=missing, contents=contents)


def _latest_resources(owner: ObjectKey, parts: Live) -> Iterator[ObjectKey]:
    """Yield what the latest snapshots of a placement hold, which is what its clusters have."""
    kind = kinds_in(owner.namespace).resource_snapshot
    latest = _latest(parts, kind, RESOURCE_INDEX)
    index = None if latest is None else labels_of(parts[latest]).get(RESOURCE_INDEX)
    for key, body in parts.items():
        if key.kind == kind and index == labels_of(body).get(RESOURCE_INDEX):
            yield from map(resource_key, readable_entries(body))


def _why_no_state(key: ObjectKey, parts: Live) -> str:
    """Return why a live snapshot is not taken over.

    Args:
        key: The snapshot.
        parts: All that is live of its placement.
    """
    index = POLICY_INDEX if key.kind in POLICY_SNAPSHOTS else RESOURCE_INDEX
    latest = _latest(parts, key.kind, index)
    if latest is None:
        return "none of the snapshots of its placement is labelled as the latest"
    if labels_of(parts[latest]).get(index) == labels_of(parts[key]).get(index):
        return "what the repository has for its placement takes fewer snapshots"
    return "it is not the latest"


def _placement(
    fleets: Fleets, key: ObjectKey, placement: Body, parts: Live, now: datetime
) -> dict[ObjectKey, Body]:
    """Return the files of one placement."""
    kinds = kinds_in(key.namespace)
    status_file = _status_file(fleets, key, placement, now)
    owner = _owner(key, status_file)
    outputs: dict[ObjectKey, Body] = {key: status_file}
    policy = _latest(parts, kinds.policy_snapshot, POLICY_INDEX)
    if policy is not None:
        outputs[policy] = snapshot_file(policy, _policy(policy, parts[policy], owner), stamp(now))
    master = _latest(parts, kinds.resource_snapshot, RESOURCE_INDEX)
    if master is not None:
        index = labels_of(parts[master]).get(RESOURCE_INDEX, "0")
        outputs |= _resources(fleets, key, owner, index, now)
    for name, body in parts.items():
        if name.kind == kinds.binding:
            outputs[name] = adopted_binding(decode_binding(body), key.name, now)
    return outputs


def _owner(key: ObjectKey, status_file: Body) -> Owner:
    generation = number(mapping(status_file, "metadata"), "generation")
    return Owner(key.name, uid_of(key), generation, key.namespace)


def _status_file(fleets: Fleets, key: ObjectKey, placement: Body, now: datetime) -> Body:
    """Return the status file of a placement: its live generation counts on."""
    manifest = fleets.placements[key]
    _, metadata = admit(key, mapping(manifest.body, "spec"), None, now)
    written = mapping(placement, "metadata")
    created = text(written, "creationTimestamp")
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": key.kind,
        "metadata": {
            **metadata,
            **({"creationTimestamp": created} if created else {}),
            "generation": number(written, "generation") or 1,
        },
        "status": mapping(placement, "status"),
    }


def _latest(parts: Live, kind: str, index: str) -> ObjectKey | None:
    """Return the snapshot of a kind that is labelled latest, of several the one of highest index.

    Of a group of resource snapshots only the master has the label.
    """
    found = [key for key, body in parts.items() if key.kind == kind and is_latest(body)]
    return max(found, key=lambda key: int(labels_of(parts[key]).get(index, "0")), default=None)


def _policy(key: ObjectKey, body: Body, owner: Owner) -> Body:
    """Return a policy snapshot as a pass leaves it."""
    marks = annotations_of(body)
    kept = {name: marks[name] for name in (NUMBER_OF_CLUSTERS,) if name in marks}
    labels = {PARENT: owner.name, IS_LATEST: "true", POLICY_INDEX: labels_of(body)[POLICY_INDEX]}
    return {
        "apiVersion": API_VERSION,
        "kind": key.kind,
        "metadata": {
            **_dated(key, body),
            "generation": 1,
            "labels": labels,
            "annotations": {CRP_GENERATION: str(owner.generation), **kept},
            "ownerReferences": [owner.reference],
        },
        "spec": mapping(body, "spec"),
        "status": _of_generation_one(body, owner),
    }


def _of_generation_one(snapshot: Body, owner: Owner) -> Body:
    """Return the status of a snapshot, whose spec never changes, for the present placement."""
    status = decode_policy_status(snapshot)
    conditions = [{**item, "observedGeneration": 1} for item in status.conditions or ()]
    return encode_policy_status(
        status._replace(observed_generation=owner.generation, conditions=conditions)
    )


def _dated(key: ObjectKey, body: Body) -> dict[str, object]:
    """Return name, namespace and creation of a live object."""
    created = text(mapping(body, "metadata"), "creationTimestamp")
    return {
        **named_in(key.namespace, key.name),
        **({"creationTimestamp": created} if created else {}),
    }


def _resources(
    fleets: Fleets, key: ObjectKey, owner: Owner, index: str, now: datetime
) -> dict[ObjectKey, Body]:
    """Return the resource snapshots of what the repository holds, under a live index."""
    selection = fleets.selection(key)
    made = snapshot_resources(
        owner, selection.resources, (), now, limit=2, envelopes=selection.envelopes
    )
    outputs: dict[ObjectKey, Body] = {}
    for name, body in made.snapshots.items():
        _, part = name.removeprefix(f"{owner.name}-").split("-", 1)
        renamed = ObjectKey(
            GROUP, owner.kinds.resource_snapshot, key.namespace, f"{owner.name}-{index}-{part}"
        )
        metadata = {
            **mapping(body, "metadata"),
            **owner.identity(renamed.name),
            "labels": {**labels_of(body), RESOURCE_INDEX: index},
        }
        outputs[renamed] = snapshot_file(renamed, {**body, "metadata": metadata}, stamp(now))
    return outputs
