"""What an object takes of a cluster, and what of that no report of the cluster can contain yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import NANOS, Quantity
from reconciler.model.resources import Resources
from reconciler.schedule.capacity.pod_requests import canonical_amount

PODS = "pods"


class CopyCount(NamedTuple):
    """A workload and how many replicas of it a cluster gets; its report is to show as many."""

    key: ObjectKey
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDemand:
    """What one object takes of one cluster.

    Attributes:
        resources: Of all its replicas there, pods among them.
        copies: Its workloads there that have replicas.
    """

    resources: Resources
    copies: tuple[CopyCount, ...] = ()


NO_DEMAND = ClusterDemand(resources={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Room of one cluster that was given to an object, until the cluster's capacity contains it.

    Attributes:
        holder: What the decision is about.
        resources: What is reserved.
        covered: What the object had there before; the reported capacity contains that already.
        copies: What its reports are to show.
        since: The last pass that added to it, or that saw these reports first.
        awaits: The APIs whose capacity of the cluster was not seen otherwise since the reports
            show all copies, sorted; `None` while they do not show them.
    """

    holder: ObjectKey
    resources: Resources
    covered: Resources
    copies: tuple[CopyCount, ...]
    since: datetime
    awaits: tuple[str, ...] | None = None

    @property
    def most(self) -> Resources:
        """What the object had there at most since the reservation stands."""
        return plus(self.covered, self.resources)


def demand_of_replicas(workload: ObjectKey, replicas: int, request: Resources) -> ClusterDemand:
    """Return what some replicas of a workload take.

    Args:
        workload: Whose they are.
        replicas: How many, 0 or more.
        request: What one of them asks for; the pod itself comes on top.
    """
    if not replicas:
        return NO_DEMAND
    return ClusterDemand(
        resources=times(with_pod(request), replicas), copies=(CopyCount(workload, replicas),)
    )


def with_pod(request: Resources) -> Resources:
    """Return what one replica takes: what it asks for, and a pod."""
    return {**{name: amount for name, amount in request.items() if amount}, PODS: Quantity(NANOS)}


def times(amounts: Resources, count: int) -> Resources:
    """Return amounts so many times.

    >>> times({"cpu": 2}, 3)
    {'cpu': 6}
    """
    return {name: Quantity(amount * count) for name, amount in amounts.items()}


def plus(one: Resources, other: Resources) -> Resources:
    """Return the sum of amounts.

    >>> plus({"cpu": 2}, {"cpu": 1, "pods": 1})
    {'cpu': 3, 'pods': 1}
    """
    if not one or not other:
        return one or other
    found = dict(one)
    for name, amount in other.items():
        found[name] = Quantity(found.get(name, 0) + amount)
    return found


def beyond(one: Resources, other: Resources) -> dict[str, Quantity]:
    """Return by how much amounts exceed others, only what is above 0.

    >>> beyond({"cpu": 3, "pods": 1}, {"cpu": 1, "pods": 2})
    {'cpu': 2}
    """
    found = {name: Quantity(amount - other.get(name, 0)) for name, amount in one.items()}
    return {name: amount for name, amount in found.items() if amount > 0}


def greatest(one: Resources, other: Resources) -> Resources:
    """Return of each resource the greater amount.

    >>> greatest({"cpu": 3}, {"cpu": 1, "pods": 2})
    {'cpu': 3, 'pods': 2}
    """
    return {
        name: max(one.get(name, Quantity(0)), other.get(name, Quantity(0)))
        for name in {**one, **other}
    }


def written_amounts(amounts: Mapping[str, Quantity]) -> str:
    """Return amounts as people read them, by name.

    >>> written_amounts({"memory": 2**30 * 10**9, "cpu": 15 * 10**8})
    'cpu 1500m, memory 1Gi'
    """
    return ", ".join(f"{name} {canonical_amount(name, amounts[name])}" for name in sorted(amounts))
