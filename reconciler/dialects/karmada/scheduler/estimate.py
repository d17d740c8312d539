"""How many replicas a cluster can take: from its resource summary, or from its resource models."""

from collections.abc import Callable

from reconciler.dialects.karmada.api.clusters import (
    Ask,
    Capacity,
    MemberCluster,
    Members,
    Requirements,
)
from reconciler.dialects.karmada.scheduler.resource_summary import units_of
from reconciler.model.quantity import NANOS, Quantity
from reconciler.schedule.capacity.pod_requests import NATIVE
from reconciler.schedule.capacity.reservation import PODS
from reconciler.schedule.columns import (
    Numbers,
    Order,
    column_of,
    greatest,
    holds_number,
    lesser,
    listed,
    quotients,
)
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, positions_of

NOT_ESTIMATED = 2**31 - 1  # karmada@f8fdd02 core/util.go: MaxInt32 stands for "no estimate"
PODS_OF_A_NODE = 110  # karmada@f8fdd02 scheduling_simulator_components.go, each virtual node

A_POD = Quantity(NANOS)

_ZERO = Quantity(0)


def wrap32(value: int) -> int:
    """Return the value as Go's int32 conversion leaves it: the low 32 bits, signed.

    >>> wrap32(4294967299)
    3
    """
    return (value + 2**31) % 2**32 - 2**31


def estimate_fleet(
    members: Members, *, replicas: int, requirements: Requirements | None, components: int = 0
) -> Capacity:
    """Return how many replicas each cluster can take, found once for equal questions.

    A cluster that is not estimated counts as having room for all replicas wanted. Where there is
    nothing to place, no cluster is estimated and the sentinel stays.

    Source: karmada@f8fdd02 pkg/scheduler/core/util.go `calAvailableReplicas`.
    """
    if replicas == 0 and components == 0:
        return _capacity(
            members, (None, -1), lambda: column_of([NOT_ESTIMATED] * len(members.views))
        )
    raw = estimates(members, requirements)
    if raw.limited:
        return raw
    return _capacity(
        members,
        (requirements, replicas),
        lambda: column_of(replicas if room == NOT_ESTIMATED else room for room in raw.column),
    )


def estimates(members: Members, requirements: Requirements | None) -> Capacity:
    """Return what the general estimator answers for each cluster, sentinels as they are.

    Source: karmada@f8fdd02 pkg/estimator/client/general.go `maxAvailableReplicas`.
    """
    return _capacity(members, (requirements, NOT_ESTIMATED), lambda: _column(members, requirements))


def _capacity(members: Members, ask: Ask, column: Callable[[], Numbers]) -> Capacity:
    def answer() -> Capacity:
        found = column()
        return Capacity(ask, found, Order(found), not holds_number(found, NOT_ESTIMATED))

    return remember(members.capacities, ask, answer)


def _column(members: Members, requirements: Requirements | None) -> Numbers:
    best = reported_rooms(members, "pods")
    for name, amount in requirements or ():
        units = units_of(name, amount)
        if units > 0:
            best = lesser(best, quotients(reported_rooms(members, name), units))
    found = best.copy()
    for position in positions_of(members.modelled if requirements is not None else NO_CLUSTERS):
        found[position] = by_models(members.views[position], requirements or ())
    for position in positions_of(members.projected):
        found[position] = _by_reported(members.views[position], requirements or ())
    for position in positions_of(members.declared):
        found[position] = NOT_ESTIMATED
    if greatest(found) > NOT_ESTIMATED:
        return column_of(map(wrap32, listed(found)))
    return found


def _by_reported(view: MemberCluster, requirements: Requirements) -> int:
    """Return what a projected cluster can take by the resources that it reports."""
    # Unlike upstream: a resource that another API has no word for is unlimited, not zero.
    rooms = {} if view.summary is None else view.summary.rooms
    asked = ((name, units_of(name, amount)) for name, amount in (*requirements, (PODS, A_POD)))
    left = (rooms[name] // units for name, units in asked if units > 0 and name in rooms)
    return min(left, default=NOT_ESTIMATED)


def reported_rooms(members: Members, name: str) -> Numbers:
    """Return what each cluster reports as left of a resource."""

    def found() -> Numbers:
        summaries = [view.summary for view in members.views]
        return column_of([0 if one is None else one.rooms.get(name, 0) for one in summaries])

    return remember(members.rooms, name, found)


def by_models(view: MemberCluster, requirements: Requirements) -> int:
    """Count the replicas that fit into the virtual nodes of the cluster's models.

    Each grade gives as many nodes as the status counts, each with the least of what the grade
    promises. What is allocated matters for pods only. A replica is one pod of a node, whatever it
    requests by that name.

    Source: karmada@f8fdd02 pkg/estimator/scheduling_simulator_components.go `buildModelNodes`,
    pkg/util/resource.go `MaxDivided`.
    """
    if view.summary is None:
        return 0
    nodes: dict[int, int] = {}
    for grade, count in view.summary.models:
        nodes[grade] = nodes.get(grade, 0) + count
    total = 0
    for grade, least in view.resource_models:
        fitting = PODS_OF_A_NODE
        for name, amount in requirements:
            units = units_of(name, amount)
            if units > 0 and name != PODS and (name in NATIVE or is_scalar_resource(name)):
                fitting = min(fitting, units_of(name, least.get(name, _ZERO)) // units)
        total += nodes.pop(grade, 0) * fitting
    return min(total, view.summary.rooms["pods"])


def is_scalar_resource(name: str) -> bool:
    """Return whether Kubernetes counts a resource by name beyond the native ones.

    Source: karmada@f8fdd02 pkg/util/lifted/corehelpers.go `IsScalarResourceName`: extended ones,
    huge pages, attachable volumes, and those of the kubernetes.io domain.

    >>> is_scalar_resource("nvidia.com/gpu"), is_scalar_resource("storage")
    (True, False)
    """
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))
