"""Where placements and sets are by the decisions of passes, and what a ManagedCluster reports.

A cluster is also shown as it would look cordoned and unreachable.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import islice
from operator import attrgetter

from reconciler.dialects.ocm.api.cluster import AVAILABLE
from reconciler.dialects.ocm.api.placement import (
    CLUSTER_GROUP,
    PLACEMENT_LABEL,
    WORK_GROUP,
    decode_decision,
    decode_status,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    clusters_of,
    decode_record,
    manifests_of,
)
from reconciler.dialects.view import (
    CHOSEN,
    LEAVING,
    STARTING,
    ClusterReport,
    reported_status,
    reported_trouble,
    unknown_since,
)
from reconciler.manifests.identity import Identity, identify, namespace_for
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import KnownKinds
from reconciler.model.quantity import readable_resources
from reconciler.model.world import Manifest, World
from reconciler.multicluster.placement_decision import ChosenCluster
from reconciler.rebalance.surge import surge_in

SET = (WORK_GROUP, REPLICA_SET)


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement or a set that has a cluster."""
    if output.key.kind == REPLICA_SET:
        return bool(decode_record(output.body).works)
    if output.key.kind != "Placement":
        return False
    return decode_status(output.body).selected > 0


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a PlacementDecision."""
    if key.kind != "PlacementDecision":
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PLACEMENT_LABEL)
    return ObjectKey(CLUSTER_GROUP, "Placement", key.namespace, name) if name else None


def clusters_in(decision: Body) -> Iterator[tuple[str, int]]:
    """Yield the clusters of a PlacementDecision or a set, which count no replicas."""
    if decision.get("kind") == REPLICA_SET:
        yield from clusters_of(decode_record(decision))
        return
    yield from ((name, 0) for name in decode_decision(decision).clusters)


def chosen(world: World, key: ObjectKey) -> tuple[ChosenCluster, ...] | None:
    """Return the clusters of a placement, `None` for a set, which follows its placements."""
    if key not in world.outputs or key.kind != "Placement":
        return None
    written = world.outputs_of_kind((CLUSTER_GROUP, "PlacementDecision"))
    stem = f"{key.name}-decision-"
    start = ObjectKey(CLUSTER_GROUP, "PlacementDecision", key.namespace, stem)
    surge = surge_in(world.outputs[key].body)
    begun = frozenset() if surge is None else surge.clusters
    names: dict[ClusterName, str] = {}
    for manifest in islice(written, bisect_left(written, start, key=attrgetter("key")), None):
        if manifest.key.namespace != key.namespace or not manifest.key.name.startswith(stem):
            break
        if owner_of(manifest.key, manifest.body) == key:
            decision = decode_decision(manifest.body)
            names |= {n: STARTING if n in begun else CHOSEN for n in decision.clusters}
            names |= dict.fromkeys(decision.leaving, LEAVING)
    return tuple(ChosenCluster(name, None, reason) for name, reason in names.items())


def carriers(world: World, key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the sets whose template carries an object, sorted."""
    sets = (one.key for one in world.of_kind(*SET) if key in carried(one, world.known))
    return tuple(sorted(sets))


def carried(manifest: Manifest, known_kinds: KnownKinds) -> Mapping[ObjectKey, int]:
    """Return the objects in the template of a set, by where they stand in it."""
    template = mapping(mapping(manifest.body, "spec"), "manifestWorkTemplate")
    carried_objects = {}
    for position, body in enumerate(manifests_of(template)):
        match identify(body, known_kinds):
            case Identity(group=group, kind=kind, namespace=namespace, name=name):
                scope = namespace_for(group, kind, namespace, known_kinds.scopes)
                carried_objects[ObjectKey(group, kind, scope, name)] = position
    return carried_objects


CORDON: Body = {"key": "reconciler.dev/cordoned", "effect": "NoSelectIfNew"}
"""Source: ours; upstream has no tool for it, but an effect by which decisions stay as they are:
open-cluster-management.io/api cluster/v1 types.go `TaintEffectNoSelectIfNew`.
"""

TAINT_EFFECTS = ("PreferNoSelect", "NoSelectIfNew", "NoSelect")
"""Source: open-cluster-management.io/api cluster/v1 types.go `TaintEffect`."""


def report_of(status: Body) -> ClusterReport:
    """Return what a cluster reports.

    Source: ocm@00f84c3 reports no use.
    """
    conditions = bodies(status, "conditions")
    return ClusterReport(
        ready=reported_status(conditions, AVAILABLE),
        capacity=readable_resources(mapping(status, "allocatable")),
        down=reported_trouble(conditions, AVAILABLE),
    )


def unreachable(cluster: Body, moment: str) -> Body:
    """Return a cluster whose availability is Unknown since a moment."""
    status = mapping(cluster, "status")
    conditions = bodies(status, "conditions")
    return {**cluster, "status": unknown_since(status, conditions, AVAILABLE, moment)}
