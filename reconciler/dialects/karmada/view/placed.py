"""Where workloads are, by the bindings that passes wrote."""

from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.groups import WORK_GROUP
from reconciler.dialects.karmada.api.placement import affinity_names
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING
from reconciler.dialects.karmada.api.work.binding_spec import (
    Targets,
    decode_requests,
    decode_required_clusters,
    decode_requiring,
    decode_resource,
    decode_targets,
)
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.resources import Resources, readable_resources
from reconciler.model.world import Manifest
from reconciler.rebalance.target import AffinityPlace, Reference


def is_placed(output: Manifest) -> bool:
    """Return whether a binding names a cluster."""
    return bool(held_in(output.body))


def owner_of(key: ObjectKey, body: Body) -> None:
    """Return `None`: a binding is not a part of anything."""
    del key, body


def clusters_in(binding: Body) -> Targets:
    """Return the clusters that a binding is scheduled to, with their replicas."""
    return decode_targets(fields.mapping(binding, "spec"))


def held_in(binding: Body) -> Targets:
    """Return the clusters that have the workload of a binding: its own, and those of who needs it.

    Who needs it has replicas there, the object itself has none to count.
    """
    own = clusters_in(binding)
    there = {target.name for target in own}
    needing = decode_required_clusters(binding) - there
    return (*own, *(TargetCluster(ClusterName(name), 0) for name in sorted(needing)))


def follows(binding: Body) -> tuple[ObjectKey, ...]:
    """Return the bindings that require one: its workload is where theirs are."""
    return tuple(
        ObjectKey(WORK_GROUP, BINDING, one.namespace, one.name) for one in decode_requiring(binding)
    )


def requested_by(binding: Body) -> Resources:
    """Return what one replica asks for."""
    return readable_resources(decode_requests(binding)) or {}


def affinity_place(placement: Body | None, observed: str | None) -> AffinityPlace | None:
    """Return the affinity group that a binding was placed by, `None` where there are no groups.

    Args:
        placement: Of the binding, as written.
        observed: The group that its scheduler took last.
    """
    names = affinity_names(placement)
    if not names or not observed:
        return None
    return AffinityPlace(names.index(observed) if observed in names else len(names), observed)


def workload_of(binding: Body) -> Reference:
    """Return the workload of a binding, as a rebalancer names it."""
    found = decode_resource(binding)
    return Reference(found.api_version, found.kind, found.namespace, found.name)
