"""What is free in clusters where room is protected: what they report, less what is reserved.

It is counted as the estimator counts it: replicas by resource summary, or by resource models, where
each reserved pod takes of the nodes what it may take at most. A cluster without a status has no
limit, nor has one whose status says nothing of resources, but that divisions by room give nothing,
as upstream.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.clusters import (
    Capacity,
    MemberCluster,
    Members,
    Requirements,
)
from reconciler.dialects.karmada.scheduler.estimate import (
    NOT_ESTIMATED,
    by_models,
    estimate_fleet,
    estimates,
)
from reconciler.dialects.karmada.scheduler.resource_summary import amount_of, units_of
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources
from reconciler.schedule.capacity.ledger import NOTHING_HELD, Ledger
from reconciler.schedule.capacity.reservation import (
    PODS,
    Reservation,
    beyond,
    plus,
    times,
    with_pod,
)
from reconciler.schedule.columns import Numbers, Order
from reconciler.schedule.framework import Mask, Rejection, mask_where, positions_of

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
            left = rooms.get(name, 0) - units_of(name, taken.get(name, _ZERO))
            pods = min(pods, left // units) if left > 0 else 0
        return pods if pods == NOT_ESTIMATED and view.projected else min(pods, NOT_ESTIMATED - 1)

    def _asked(self, requirements: Requirements | None) -> tuple[tuple[str, int], ...]:
        """Return what one replica asks for in units, the same for all clusters."""
        if requirements not in self._units:
            found = ((name, units_of(name, amount)) for name, amount in requirements or ())
            self._units[requirements] = tuple((name, units) for name, units in found if units > 0)
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
        found = self.fleet.more(requirements)
        special = self._special(requirements)
        if special:
            found = found.copy()
            for position, taken in special.items():
                found[position] = self.fleet.more_at(position, requirements, taken)
        return found

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
        column = self.more(binding.requirements).copy()
        for position in positions_of(self.fleet.members.declared):
            column[position] = binding.replicas
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
        left = {name: Quantity(max(0, room - taken.get(name, 0))) for name, room in has.items()}
        return beyond(asked, left)

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
        found = self.fleet.ledger.taken(API, self.holder, name, has)
        grown = self._grows(requirements)
        return plus(found, times(grown, held)) if held and grown else found

    def _grows(self, requirements: Requirements | None) -> Resources:
        """Return by how much one replica asks for more than it did."""
        return beyond(dict(requirements or ()), self.request) if self.stood else {}
