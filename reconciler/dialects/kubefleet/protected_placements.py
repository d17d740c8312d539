"""What placements take of protected room: what each may ask for, and what it took in its turn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from reconciler.dialects.kubefleet.reservations import PlacementDemands
from reconciler.dialects.kubefleet.rollout.availability_reports import keys_of
from reconciler.dialects.kubefleet.scheduler.protected_room import PlacementRoom
from reconciler.dialects.kubefleet.snapshots.resource_selection import SelectedResources
from reconciler.dialects.kubefleet.view.binding_rendering import targets_in
from reconciler.dialects.object_pass import Part
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.schedule.capacity.ledger import Ledger
from reconciler.schedule.capacity.reservation import NO_DEMAND, ClusterDemand
from reconciler.schedule.capacity.workload_pods import demand_of_manifests

Selection = SelectedResources | UserError
"""What a placement selects, or what is wrong with its selectors."""


@dataclass(frozen=True, slots=True)
class ProtectedPlacements:
    """The placements of a round where room is protected.

    `ledger` is what is reserved. `left` is what earlier passes left of each placement. `selected`
    answers what one selects.
    """

    world: World
    ledger: Ledger
    left: Mapping[ObjectKey, Mapping[ObjectKey, Body]]
    selected: Callable[[ObjectKey], Selection]

    def room_of(self, key: ObjectKey) -> PlacementRoom:
        """Return what is free for a placement."""
        demand, held = self._demand(key), targets_in(self.left.get(key, {}))
        brought = partial(PlacementDemands(self.world, demand).brought, key.namespace)
        return PlacementRoom(self.ledger, key, demand, held, brought)

    def take(self, key: ObjectKey, part: Part, demand: ClusterDemand) -> None:
        """Reserve what a placement takes as it was decided.

        Where a person edited a decision nobody knows what it was: all clusters are reserved.
        """
        left = self.left.get(key, {})
        if any(part.outputs.get(one) is not body for one, body in left.items()) or not left:
            demands = PlacementDemands(self.world, demand)
            had = {} if part.edited else demands.of(left)
            self.ledger.take_all(key, had, demands.of(part.outputs))

    def _demand(self, key: ObjectKey) -> ClusterDemand:
        """Return what a placement selects takes of a cluster."""
        found = self.selected(key)
        if isinstance(found, UserError):
            return NO_DEMAND
        inputs = self.world.inputs
        selected = (one for one in keys_of(found.resources) if one in inputs)
        return demand_of_manifests((one, inputs[one].body) for one in selected)
