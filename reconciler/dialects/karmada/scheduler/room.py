"""How many replicas a cluster can take: by its report, and less what is reserved if protected.

The estimator counts by resource summary or by resource models. Protected room is counted the same
way; with models, each reserved pod takes of the nodes what it may take at most. A cluster without a
status has no limit, nor has one whose status says nothing of resources, except that divisions by
room give such a cluster nothing, as upstream.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.cluster import (
    Ask,
    Capacity,
    MemberCluster,
    Members,
    Requirements,
    amount_of,
    units_of,
)
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.quantity import NANOS, Quantity, Resources
from reconciler.model.records import dataclass, field
from reconciler.schedule.capacity import (
    NOTHING_HELD,
    PODS,
    Ledger,
    Reservation,
    beyond,
    plus,
    times,
    with_pod,
)
from reconciler.schedule.columns import (
    Numbers,
    Order,
    column_of,
    greatest,
    holds_number,
    lesser,
    listed,
    quotients,
    replaced,
    with_number,
)
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection, mask_where, positions_of
from reconciler.schedule.pods import NATIVE

API = "karmada"
_ZERO = Quantity(0)


@dataclass(eq=False)
class ProtectedFleet:
    """What is free in a fleet by a ledger; columns are mended where something was added.

    Attributes:
        members: The fleet.
        ledger: What is reserved of it.
    """

    members: Members
    ledger: Ledger
    _columns: dict[Requirements | None, tuple[int, Numbers]] = field(default_factory=dict)
    _units: dict[Requirements | None, tuple[tuple[str, int], ...]] = field(default_factory=dict)

    def at(self, members: Members) -> "ProtectedFleet":
        """Return the same of another fleet, such as that of the last pass."""
        return self if members is self.members else ProtectedFleet(members, self.ledger)

    def more(self, requirements: Requirements | None) -> Numbers:
        """Return how many more replicas each cluster can take, whoever asks; not to be kept."""
        ledger, known = self.ledger, self._columns.get(requirements)
        if known is None:
            column, added = estimates(self.members, requirements).numbers.copy(), ledger.counted
        else:
            read, column = known
            added = {*ledger.log[read:]}
        position = self.members.fleet.position
        for cluster in added:
            at = position.get(ClusterName(cluster))
            if at is not None:
                column[at] = self.more_at(at, requirements, ledger.total(API, cluster))
        self._columns[requirements] = len(ledger.log), column
        return column

    def more_at(self, position: int, requirements: Requirements | None, taken: Resources) -> int:
        """Return how many more replicas one cluster can take, where so much of it is taken."""
        view = self.members.views[position]
        if view.declared:
            return NOT_ESTIMATED
        if view.summary is None:
            return 0
        rooms = view.summary.rooms
        pods = NOT_ESTIMATED
        if PODS in rooms:
            pods = max(0, rooms[PODS] - units_of(PODS, taken.get(PODS, _ZERO)))
        if self.members.modelled >> position & 1 and requirements is not None:
            pods = min(pods, self._by_models(view, requirements))
            taken = self.ledger.unseen(API, view.cluster.name)  # models hold the rest
            if not taken:
                return pods
        for name, units in self._asked(requirements):
            if name not in rooms and view.projected:
                continue  # its API has no word for it
            units_left = rooms.get(name, 0) - units_of(name, taken.get(name, _ZERO))
            pods = min(pods, units_left // units) if units_left > 0 else 0
        return pods if pods == NOT_ESTIMATED and view.projected else min(pods, NOT_ESTIMATED - 1)

    def _asked(self, requirements: Requirements | None) -> tuple[tuple[str, int], ...]:
        """Return what one replica asks for in units, the same for all clusters."""
        if requirements not in self._units:
            amounts = ((name, units_of(name, amount)) for name, amount in requirements or ())
            self._units[requirements] = tuple((name, units) for name, units in amounts if units > 0)
        return self._units[requirements]

    @cached_property
    def limited(self) -> Mask:
        """The clusters that say what they have."""
        return mask_where([view.summary is not None for view in self.members.views])

    def _by_models(self, view: MemberCluster, requirements: Requirements) -> int:
        """Return how many replicas fit into the nodes of the models beside what is reserved."""
        held = self.ledger.held.get(view.cluster.name, NOTHING_HELD)
        taken = sum(_replicas_worth(one, requirements) for one in held.values())
        return max(0, by_models(view, requirements) - taken)


def _replicas_worth(one: Reservation, requirements: Requirements) -> int:
    """Return of how many replicas a reservation takes the place on nodes, at most.

    A pod of it takes the place of as many as its largest part is worth, and of one at least. Where
    it is of several workloads only their sum is known.
    """
    pods = units_of(PODS, one.resources.get(PODS, _ZERO))
    asked = [(one.resources.get(name, 0), amount) for name, amount in requirements if amount > 0]
    if len(one.copies) > 1:
        return pods + sum(-(-taken // amount) for taken, amount in asked)
    worth = (-(-taken // (amount * max(1, pods))) for taken, amount in asked)
    return pods * max((1, *worth))


@dataclass(slots=True, eq=False)
class BindingRoom:
    """What is free for one binding: what it has itself does not stand in its way.

    Attributes:
        fleet: What is free for anyone.
        holder: The binding.
        stood: Its clusters as the round found them, with their replicas.
        request: What one replica asked for then.
        refused: What the filter said, so that it is told as it was when it decided.
    """

    fleet: ProtectedFleet
    holder: ObjectKey
    stood: Mapping[str, int]
    request: Resources
    refused: dict[object, tuple[Rejection, ...]] = field(default_factory=dict, repr=False)

    def more(self, requirements: Requirements | None) -> Numbers:
        """Return how many replicas each cluster can take beyond those that it has."""
        numbers = self.fleet.more(requirements)
        special = self._special(requirements)
        if special:
            numbers = numbers.copy()
            for position, taken in special.items():
                numbers[position] = self.fleet.more_at(position, requirements, taken)
        return numbers

    def more_at(self, position: int, requirements: Requirements | None) -> int:
        """Return how many replicas one cluster can take beyond those that the binding has."""
        if self.stood:
            taken = self._taken(position, requirements)
        else:
            names = self.fleet.members.fleet.names
            taken = self.fleet.ledger.total(API, names[position])
        return self.fleet.more_at(position, requirements, taken)

    def capacity(self, binding: Binding) -> Capacity:
        """Return how many replicas each cluster can take, for a division by room."""
        plain = estimate_fleet(
            self.fleet.members,
            replicas=binding.replicas,
            requirements=binding.requirements,
            components=binding.components,
        )
        if not binding.replicas or not self.fleet.ledger.counted:
            return plain
        declared = self.fleet.members.declared
        column = with_number(self.more(binding.requirements), declared, binding.replicas)
        for position in positions_of(self.fleet.members.projected):
            if column[position] == NOT_ESTIMATED:
                column[position] = binding.replicas
        return Capacity(plain.ask, column, Order(column), limited=True, shared=False)

    def lacking(self, position: int, requirements: Requirements | None, replicas: int) -> Resources:
        """Return what one cluster lacks for so many more replicas, nothing if they fit."""
        view = self.fleet.members.views[position]
        if view.summary is None:
            return {}
        asked = times(with_pod(dict(requirements or ())), replicas)
        taken = self._taken(position, requirements)
        rooms = view.summary.rooms
        if view.projected:
            asked = {name: amount for name, amount in asked.items() if name in rooms}
        has = {name: amount_of(name, rooms.get(name, 0)) for name in asked}
        room_left = {
            name: Quantity(max(0, room - taken.get(name, 0))) for name, room in has.items()
        }
        return beyond(asked, room_left)

    def _special(self, requirements: Requirements | None) -> dict[int, Resources]:
        """Return the clusters of which for the binding something else is taken than for others."""
        position = self.fleet.members.fleet.position
        names = {name for name, _ in self._own()}
        if self._grows(requirements):
            names.update(self.stood)
        places = [at for name in names if (at := position.get(ClusterName(name))) is not None]
        return {at: self._taken(at, requirements) for at in places}

    def _own(self) -> Iterator[tuple[str, Reservation]]:
        """Yield what is reserved for the binding already."""
        return self.fleet.ledger.own(self.holder) if self.stood else iter(())

    def _taken(self, position: int, requirements: Requirements | None) -> Resources:
        """Return what is taken of a cluster before the binding gets more there."""
        name = self.fleet.members.fleet.names[position]
        held = self.stood.get(name, 0)
        has = times(with_pod(self.request), held) if held else {}
        taken = self.fleet.ledger.taken(API, self.holder, name, has)
        grown = self._grows(requirements)
        return plus(taken, times(grown, held)) if held and grown else taken

    def _grows(self, requirements: Requirements | None) -> Resources:
        """Return by how much one replica asks for more than it did."""
        return beyond(dict(requirements or ()), self.request) if self.stood else {}


NOT_ESTIMATED = 2**31 - 1  # karmada@f8fdd02 core/util.go: MaxInt32 stands for "no estimate"
PODS_OF_A_NODE = 110  # karmada@f8fdd02 scheduling_simulator_components.go, each virtual node

A_POD = Quantity(NANOS)


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
        (raw.ask[0], replicas),
        lambda: replaced(raw.numbers, NOT_ESTIMATED, replicas),
    )


def estimates(members: Members, requirements: Requirements | None) -> Capacity:
    """Return what the general estimator answers for each cluster, sentinels as they are.

    Source: karmada@f8fdd02 pkg/estimator/client/general.go `maxAvailableReplicas`.
    """
    if members.declared == members.fleet.all:  # then all requests are one question
        requirements = None
    return _capacity(members, (requirements, NOT_ESTIMATED), lambda: _column(members, requirements))


def _capacity(members: Members, ask: Ask, column: Callable[[], Numbers]) -> Capacity:
    def answer() -> Capacity:
        capacity = column()
        return Capacity(ask, capacity, Order(capacity), not holds_number(capacity, NOT_ESTIMATED))

    return remember(members.capacities, ask, answer)


def _column(members: Members, requirements: Requirements | None) -> Numbers:
    best = reported_rooms(members, "pods")
    for name, amount in requirements or ():
        units = units_of(name, amount)
        if units > 0:
            best = lesser(best, quotients(reported_rooms(members, name), units))
    numbers = best.copy()
    for position in positions_of(members.modelled if requirements is not None else NO_CLUSTERS):
        numbers[position] = by_models(members.views[position], requirements or ())
    for position in positions_of(members.projected):
        numbers[position] = _by_reported(members.views[position], requirements or ())
    numbers = with_number(numbers, members.declared, NOT_ESTIMATED)
    if greatest(numbers) > NOT_ESTIMATED:
        return column_of(map(wrap32, listed(numbers)))
    return numbers


def _by_reported(view: MemberCluster, requirements: Requirements) -> int:
    """Return what a projected cluster can take by the resources that it reports."""
    # Unlike upstream: a resource that another API has no word for is unlimited, not zero.
    rooms = {} if view.summary is None else view.summary.rooms
    asked = ((name, units_of(name, amount)) for name, amount in (*requirements, (PODS, A_POD)))
    units_left = (rooms[name] // units for name, units in asked if units > 0 and name in rooms)
    return min(units_left, default=NOT_ESTIMATED)


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
