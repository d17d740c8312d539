"""Where placements are, by the bindings and snapshots of passes; and what MemberClusters report.

A MemberCluster is seen as it reports, and as it looks cordoned and unreachable. The categories of
kinds are those that kubectl has of KubeFleet: `get fleet`.
"""

from collections.abc import Iterator, Mapping

from reconciler.dialects.kubefleet.api.binding import decode_placement_status, state_of, target_of
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    CLUSTER_GROUP,
    CLUSTER_SCOPED,
    MEMBER_AGENT,
    NAMESPACED,
    PARENT,
    PLACEMENT_GROUP,
    PLACEMENTS,
    RESOURCE_SNAPSHOTS,
    RUNS,
    UNSCHEDULED,
    kinds_in,
    placement_key,
)
from reconciler.dialects.kubefleet.api.snapshots import decode_resources
from reconciler.dialects.kubefleet.api.updates import readable_request
from reconciler.dialects.kubefleet.crd_kinds import CRD_KINDS
from reconciler.dialects.kubefleet.workgenerator.content import binding_outputs
from reconciler.dialects.view import (
    CHOSEN,
    LEAVING,
    STARTING,
    UNREACHED,
    ClusterReport,
    reported_status,
    reported_trouble,
    simulated_condition,
)
from reconciler.manifests.identity import Identity, identify
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.quantity import readable_resources
from reconciler.model.world import Manifest, World
from reconciler.multicluster.placement_decision import ChosenCluster
from reconciler.rebalance.surge import surge_in


def is_placed(output: Manifest) -> bool:
    """Return whether an output is the status of a placement that names a cluster."""
    if output.key.kind not in PLACEMENTS:
        return False
    return any(one.cluster for one in decode_placement_status(output.body).clusters or ())


def owner_of(key: ObjectKey, body: Body) -> ObjectKey | None:
    """Return the placement of a binding or a snapshot."""
    if key.group != PLACEMENT_GROUP or key.kind in PLACEMENTS:
        return None
    name = text(mapping(mapping(body, "metadata"), "labels"), PARENT)
    return placement_key(key.namespace, name) if name else None


def placement_of(world: World, key: ObjectKey) -> ObjectKey | None:
    """Return the placement that a staged update run rolls out, or the run of a request for it."""
    if key.kind == kinds_in(key.namespace).approval_request:
        request = world.outputs.get(key) or world.inputs.get(key)
        placement = None if request is None else readable_request(request.body)
        if placement is None:
            return None
        key = ObjectKey(PLACEMENT_GROUP, kinds_in(key.namespace).run, key.namespace, placement.run)
    run = world.inputs.get(key)
    if run is None or key[:2] not in RUNS:
        return None
    return placement_key(key.namespace, text(mapping(run.body, "spec"), "placementName"))


def clusters_in(binding: Body) -> Iterator[tuple[str, int]]:
    """Yield the cluster of a binding, unless it is leaving; replicas are not counted."""
    if state_of(binding) != UNSCHEDULED:
        yield target_of(binding), 0


def chosen(world: World, key: ObjectKey) -> tuple[ChosenCluster, ...] | None:
    """Return the clusters of a placement that a rollout has reached, those that are left included.

    One that is scheduled only waits for its rollout, and has nothing yet.
    """
    if key not in world.outputs or key.kind not in PLACEMENTS:
        return None
    surge = surge_in(world.outputs[key].body)
    begun = frozenset() if surge is None else surge.clusters
    names: dict[str, str] = {}
    for manifest in binding_outputs(world, key):
        state = state_of(manifest.body)
        if state in (BOUND, UNSCHEDULED):
            name = target_of(manifest.body)
            why = STARTING if name in begun else CHOSEN
            names[name] = why if state == BOUND else LEAVING
    return tuple(ChosenCluster(name, None, reason) for name, reason in sorted(names.items()))


def carriers(world: World, key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the placements that carry an object along, by their snapshots, sorted."""
    keys = set()
    for snapshot, manifest in world.outputs.items():
        if snapshot.group != PLACEMENT_GROUP or snapshot.kind not in RESOURCE_SNAPSHOTS:
            continue
        owner = owner_of(snapshot, manifest.body)
        for entry in decode_resources(manifest.body):
            match identify(entry.body, world.known):
                case Identity(group=group, kind=kind, namespace=namespace, name=name):
                    if owner and ObjectKey(group, kind, namespace, name) == key:
                        keys.add(owner)
    return tuple(sorted(keys))


def may_carry(world: World, namespace: str) -> bool:
    """Return whether a placement may select a namespace with what is in it."""
    placements = world.of_kind(PLACEMENT_GROUP, NAMESPACED.placement)
    if any(placement.key.namespace == namespace for placement in placements):
        return True
    return any(
        text(selector, "kind") == "Namespace" and text(selector, "name") in ("", namespace)
        for placement in world.of_kind(PLACEMENT_GROUP, CLUSTER_SCOPED.placement)
        for selector in bodies(mapping(placement.body, "spec"), "resourceSelectors")
    )


CORDON: Body = {"key": "cordon-key", "value": "cordon-value", "effect": "NoSchedule"}
"""Source: kubefleet@e160c1c tools/fleet/cmd/common/common.go CordonTaint."""

TAINT_EFFECTS = ("NoSchedule",)
"""Source: kubefleet@e160c1c apis/cluster/v1beta1/membercluster_types.go `Taint.Effect`."""


def report_of(status: Body) -> ClusterReport:
    """Return what a cluster reports; the health of its agent stands for its own.

    Source: kubefleet@e160c1c reports `available`.
    """
    conditions = [
        condition
        for agent in bodies(status, "agentStatus")
        if text(agent, "type") == MEMBER_AGENT
        for condition in bodies(agent, "conditions")
    ]
    usage = mapping(status, "resourceUsage")
    return ClusterReport(
        ready=reported_status(conditions, "Healthy"),
        capacity=readable_resources(mapping(usage, "allocatable")),
        free=readable_resources(mapping(usage, "available")),
        down=reported_trouble(conditions, "Healthy"),
    )


def unreachable(cluster: Body, moment: str) -> Body:
    """Return a cluster whose agent is silent and unhealthy since a moment."""
    status = mapping(cluster, "status")
    agent = {
        "type": MEMBER_AGENT,
        "conditions": [
            simulated_condition("Joined", "True", "it had joined", moment),
            simulated_condition("Healthy", "False", UNREACHED, moment),
        ],
        "lastReceivedHeartbeat": moment,
    }
    others = [one for one in bodies(status, "agentStatus") if text(one, "type") != MEMBER_AGENT]
    return {**cluster, "status": {**status, "agentStatus": [agent, *others]}}


def _of(*groups: str) -> frozenset[Kind]:
    return frozenset((group, kind) for group in groups for kind in CRD_KINDS[group])


CATEGORIES: Mapping[str, frozenset[Kind]] = {
    "fleet": _of(CLUSTER_GROUP, PLACEMENT_GROUP),
    "fleet-cluster": _of(CLUSTER_GROUP),
    "fleet-placement": _of(PLACEMENT_GROUP),
}
"""Source: kubefleet@e160c1c config/crd/bases `spec.names.categories`, alike in a group."""
