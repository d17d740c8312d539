"""How many pods a cluster runs for a manifest that it gets as it stands, and what these take.

Kubernetes' own kinds that say how many there are; a DaemonSet has as many as there are nodes, which
nobody knows here.
"""

from collections.abc import Callable, Iterable, Mapping

from reconciler.model.body import Body
from reconciler.model.content import at, count_of
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.resources import Resources
from reconciler.schedule.capacity.pod_requests import pod_request
from reconciler.schedule.capacity.reservation import (
    NO_DEMAND,
    ClusterDemand,
    CopyCount,
    demand_of_replicas,
    plus,
)

Pods = tuple[int, Body]
"""How many, and the spec of one."""


def demand_of_manifests(manifests: Iterable[tuple[ObjectKey, Body]]) -> ClusterDemand:
    """Return what some objects take of each cluster that gets them."""
    resources: Resources = {}
    copies: list[CopyCount] = []
    for key, body in manifests:
        demand = demand_of_manifest(key, body)
        resources = plus(resources, demand.resources)
        copies += demand.copies
    return ClusterDemand(resources=resources, copies=tuple(copies))


def demand_of_manifest(key: ObjectKey, body: Body) -> ClusterDemand:
    """Return what one object takes of a cluster that gets it, nothing if it has no pods."""
    kind = group_of(str(body.get("apiVersion") or "")), key.kind
    pods = _PODS.get(kind)
    if pods is None:
        return NO_DEMAND
    count, pod = pods(body)
    return demand_of_replicas(key, count, pod_request(pod))


def _scaled(body: Body) -> Pods:
    """Deployment, ReplicaSet and StatefulSet: one if nothing is said."""
    return count_of(at(body, "spec").get("replicas"), 1), at(body, "spec", "template", "spec")


def _job(body: Body) -> Pods:
    """Job: as many at once, but no more than are to complete."""
    spec = at(body, "spec")
    count = count_of(spec.get("parallelism"), 1)
    return min(count, count_of(spec.get("completions"), count)), at(spec, "template", "spec")


def _pod(body: Body) -> Pods:
    return 1, at(body, "spec")


_PODS: Mapping[tuple[str, str], Callable[[Body], Pods]] = {
    ("apps", "Deployment"): _scaled,
    ("apps", "ReplicaSet"): _scaled,
    ("apps", "StatefulSet"): _scaled,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
}
