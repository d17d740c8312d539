"""Which placements upstream would look at again after an event."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from reconciler.dialects.ocm.api.cluster_sets import ClusterSet, SetBinding, holds, refusal_of_set
from reconciler.dialects.ocm.api.clusters import ManagedCluster, Members
from reconciler.dialects.ocm.api.placement import ADD_ON, Placement
from reconciler.dialects.ocm.decisions.placement_decisions import DecisionObject
from reconciler.model.cluster import Cluster
from reconciler.model.identity import ClusterName

Key = tuple[str, str]
"""Namespace and name of a placement."""


@dataclass(frozen=True, slots=True)
class ScoreReported:
    """An AddOnPlacementScore came, changed or went."""

    cluster: ClusterName
    resource_name: str


@dataclass(frozen=True, slots=True)
class ClusterChanged:
    """A cluster came, changed or went; `before` is `None` if it came or went."""

    cluster: ManagedCluster
    before: ManagedCluster | None = None


Event = Placement | DecisionObject | SetBinding | ClusterSet | ClusterChanged | ScoreReported
"""What came, changed or went, as it is now, or as it was last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """What tells whom an event concerns, as it is after the event."""

    placements: tuple[Placement, ...]
    bindings: tuple[SetBinding, ...]
    sets: tuple[ClusterSet, ...]
    members: Members


def queued(event: Event, index: Index) -> tuple[Key, ...]:
    """Return the placements that upstream queues for an event, sorted.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/enqueue.go, cluster_event_handler.go
    and scheduling_controller.go `NewSchedulingController`.
    """
    return tuple(sorted(set(_queued(event, index))))


def _queued(event: Event, index: Index) -> Iterable[Key]:
    match event:
        case Placement():
            return [(event.namespace, event.name)]
        case DecisionObject():
            return [event.owner] if event.owner is not None else []
        case SetBinding():
            return _by_binding(event, index)
        case ClusterSet():
            return _by_set(event.name, index)
        case ClusterChanged():
            return _by_cluster(event, index)
        case ScoreReported():
            return _by_score(event, index)


def _by_binding(binding: SetBinding, index: Index) -> Iterable[Key]:
    """Name the placements beside a binding that name a set of its name, or none."""
    return (
        (item.namespace, item.name)
        for item in index.placements
        if item.namespace == binding.namespace
        and (not item.cluster_sets or binding.name in item.cluster_sets)
    )


def _by_set(name: str, index: Index) -> Iterable[Key]:
    """Go by every binding that refers to the set, whatever the binding's own name."""
    return chain.from_iterable(
        _by_binding(binding, index) for binding in index.bindings if binding.cluster_set == name
    )


def _by_cluster(event: ClusterChanged, index: Index) -> Iterable[Key]:
    """Go by the sets of a cluster, and by those of its former labels if they changed."""
    seen = [event.cluster.cluster]
    if event.before is not None and event.before.cluster.labels != event.cluster.cluster.labels:
        seen.append(event.before.cluster)
    names = {name for cluster in seen for name in _sets_of(cluster, index)}
    return chain.from_iterable(_by_set(name, index) for name in names)


def _sets_of(cluster: Cluster, index: Index) -> list[str]:
    """Return the sets of a cluster; if any set of the hub cannot be used, none."""
    if any(refusal_of_set(item) for item in index.sets):
        return []
    return [item.name for item in index.sets if holds(item, cluster)]


def _by_score(event: ScoreReported, index: Index) -> Iterable[Key]:
    """Name the placements that use the score, where a set of the cluster is bound."""
    position = index.members.fleet.position.get(event.cluster)
    if position is None:
        return []
    sets = set(_sets_of(index.members.views[position].cluster, index))
    namespaces = {item.namespace for item in index.bindings if item.cluster_set in sets}
    return [
        (item.namespace, item.name)
        for item in index.placements
        if item.namespace in namespaces and _uses(item, event.resource_name)
    ]


def _uses(placement: Placement, resource_name: str) -> bool:
    """Tell whether a placement scores by an AddOnPlacementScore of this name."""
    return any(
        item.coordinate is not None
        and item.coordinate.type == ADD_ON
        and item.coordinate.add_on is not None
        and item.coordinate.add_on.resource_name == resource_name
        for item in placement.configurations
    )
