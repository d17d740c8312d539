"""The room of a cluster, told from its nodes and pods as its status controller does."""

from collections.abc import Iterable, Mapping, Sequence

from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.quantity import NANOS, Quantity
from reconciler.schedule.capacity.pod_requests import amounts_of, canonical_amount, pod_request
from reconciler.schedule.capacity.reservation import PODS

ENDED = ("Failed", "Succeeded")


def with_nodes(cluster: Body, nodes: Sequence[Body], pods: Sequence[Body]) -> Body | None:
    """Return a cluster with the resource summary of its nodes and pods.

    Unlike upstream: a node that takes no pods, and what runs there, does not count, since nothing
    new finds room there. Without any pods what is allocated stays as it was.

    Args:
        cluster: The manifest. Without a status it is declared, and has room for everything: a
            status with nothing but its room would say that it is not ready.
        nodes: Of the cluster, all of them.
        pods: Of the cluster, all of them; empty if they are not known.

    Source: karmada@f8fdd02 pkg/controllers/status/cluster_status_controller.go
    `getResourceSummary`.
    """
    status = mapping(cluster, "status")
    if not status:
        return None
    open_nodes = [node for node in nodes if not mapping(node, "spec").get("unschedulable")]
    names = {text(mapping(node, "metadata"), "name") for node in open_nodes}
    room = _total(amounts_of(mapping(mapping(n, "status"), "allocatable")) for n in open_nodes)
    summary = {**mapping(status, "resourceSummary"), "allocatable": _written(room)}
    if pods:
        running = [pod for pod in pods if text(mapping(pod, "status"), "phase") not in ENDED]
        summary["allocated"] = _requested(
            pod for pod in running if text(mapping(pod, "spec"), "nodeName") in names
        )
        summary["allocating"] = _requested(
            pod for pod in running if not text(mapping(pod, "spec"), "nodeName")
        )
    return {**cluster, "status": {**status, "resourceSummary": summary}}


def _requested(pods: Iterable[Body]) -> dict[str, str]:
    """Return what pods ask for together, and how many they are."""
    listed = list(pods)
    total = _total(pod_request(mapping(pod, "spec")) for pod in listed)
    return _written({**total, PODS: Quantity(len(listed) * NANOS)} if listed else total)


def _total(amounts: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    found: dict[str, Quantity] = {}
    for one in amounts:
        for name, amount in one.items():
            found[name] = Quantity(found.get(name, 0) + amount)
    return found


def _written(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: canonical_amount(name, amounts[name]) for name in sorted(amounts)}
