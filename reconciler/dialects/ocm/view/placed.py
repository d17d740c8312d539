"""Where placements are, by the decisions that passes wrote."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.placement_decision import PLACEMENT_LABEL, decode_decision
from reconciler.dialects.ocm.api.placement_status import decode_status
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP as WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND, manifests_of
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import clusters_of, decode_record
from reconciler.manifests.identify import Identity, identify
from reconciler.manifests.scope import namespace_for
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import KnownKinds
from reconciler.model.world import Manifest, World

SET = (WORK_GROUP, KIND)


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement or a set that has a cluster."""
    if output.key.kind == KIND:
        return bool(decode_record(output.body).works)
    if output.key.kind != "Placement":
        return False
    return decode_status(output.body).selected > 0


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a PlacementDecision."""
    if key.kind != "PlacementDecision":
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PLACEMENT_LABEL)
    return ObjectKey(GROUP, "Placement", key.namespace, name) if name else None


def clusters_in(decision: Body) -> Iterator[tuple[str, int]]:
    """Yield the clusters of a PlacementDecision or a set, which count no replicas."""
    if decision.get("kind") == KIND:
        yield from clusters_of(decode_record(decision))
        return
    yield from ((name, 0) for name in decode_decision(decision).clusters)


def carriers(world: World, key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the sets whose template carries an object, sorted."""
    found = (one.key for one in world.of_kind(*SET) if key in carried(one, world.known))
    return tuple(sorted(found))


def carried(manifest: Manifest, known: KnownKinds) -> Mapping[ObjectKey, int]:
    """Return the objects in the template of a set, by where they stand in it."""
    template = mapping(mapping(manifest.body, "spec"), "manifestWorkTemplate")
    found = {}
    for position, body in enumerate(manifests_of(template)):
        match identify(body, known):
            case Identity(group=group, kind=kind, namespace=namespace, name=name):
                scope = namespace_for(group, kind, namespace, known.scopes)
                found[ObjectKey(group, kind, scope, name)] = position
    return found
