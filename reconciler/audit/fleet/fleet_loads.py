"""What is placed on each cluster, followed from one world to the next: a step costs what moved."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from reconciler.audit.fleet.decided_objects import DecidedObjects
from reconciler.audit.fleet.placed_objects import PlacedObjects, changed_owners
from reconciler.audit.history.commit_moves import ObjectMoves, differences
from reconciler.core.dialects import dialect_of
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources
from reconciler.model.world import World

Asked = tuple[tuple[str, Quantity], ...]
"""What one replica asks for."""


@dataclass(slots=True)
class ClusterLoad:
    """What is placed on one cluster: objects and replicas, by what a replica asks for.

    `counted` is another object whenever something was counted on it.
    """

    shares: dict[int, list[int]] = field(default_factory=dict)
    counted: object = field(default_factory=object)

    @property
    def objects(self) -> int:
        """How many bindings and placements are on it."""
        return sum(objects for objects, _ in self.shares.values())

    @property
    def replicas(self) -> int:
        """How many replicas they have there."""
        return sum(replicas for _, replicas in self.shares.values())


NOTHING = ClusterLoad()


class FleetLoads:
    """What is placed on each cluster of a world.

    Attributes:
        world: That was followed to last.
        placements: Where everything is in it.
        decided: What the decisions in it are about, read when it is asked for.
        objects: How many bindings and placements are somewhere.
        moved: What is elsewhere than in the world that was followed before it.
    """

    def __init__(self, world: World) -> None:
        """Read everything."""
        self.world = world
        self.placements = PlacedObjects(world)
        self.decided = DecidedObjects(world)
        self.objects = 0
        self.moved: tuple[ObjectMoves, ...] = ()
        self._loads: dict[str, ClusterLoad] = {}
        self._numbers: dict[Asked, int] = {}  # many ask the same
        self._asked: list[Asked] = []
        for key in self.placements:
            self._count(key, 1)

    def follow(self, world: World) -> Self:
        """Go on to another world."""
        changed = changed_owners(world, self.world)
        for key in changed:
            self._count(key, -1)
        before = {key: self.placements.get(key, ()) for key in changed}
        self.placements, self.world = self.placements.followed(world, changed), world
        self.decided = self.decided.followed(world, changed)
        for key in changed:
            self._count(key, 1)
        after = {key: self.placements.get(key, ()) for key in changed}
        self.moved = differences(before, after)
        return self

    def on(self, cluster: str) -> ClusterLoad:
        """Return what is placed on a cluster."""
        return self._loads.get(cluster, NOTHING)

    def requested_by(self, load: ClusterLoad) -> Resources:
        """Return what the replicas of a load ask for, sorted by resource."""
        total: Counter[str] = Counter()
        for number, (_, replicas) in load.shares.items():
            total.update({item: amount * replicas for item, amount in self._asked[number]})
        return {name: Quantity(amount) for name, amount in sorted(total.items())}

    def _count(self, key: ObjectKey, sign: int) -> None:
        """Count an object where it is, or no longer."""
        placed = self.placements.get(key, ())
        output, dialect = self.world.outputs.get(key), dialect_of(key.group)
        self.objects += sign * bool(placed)
        if not placed or output is None or dialect is None:
            return
        number = self._number(tuple(dialect.view().requested_by(output.body).items()))
        for name, replicas in placed:
            load = self._loads.get(name) or self._loads.setdefault(name, ClusterLoad())
            share = load.shares.get(number) or load.shares.setdefault(number, [0, 0])
            load.counted = object()
            share[0] += sign
            share[1] += sign * replicas
            if not share[0]:
                del load.shares[number]  # as if it had never been there

    def _number(self, asked: Asked) -> int:
        if asked not in self._numbers:
            self._numbers[asked] = len(self._asked)
            self._asked.append(asked)
        return self._numbers[asked]
