"""What is free in clusters for a placement, where room is protected.

It is what they report as available, less what is reserved. Resources that a cluster does not report
have no limit, nor has a cluster without a status.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.clusters import Member, Members
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources, readable_resources
from reconciler.model.same import Same
from reconciler.schedule.capacity.ledger import Ledger
from reconciler.schedule.capacity.reservation import (
    ClusterDemand,
    beyond,
    plus,
    written_amounts,
)
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Rejection, mask_of, positions_of

API = "kubefleet"
REMEDY = "have so much more that is neither used nor reserved"


@dataclass(frozen=True, slots=True)
class Lacking:
    """What a cluster lacks for what would be added."""

    amounts: tuple[tuple[str, Quantity], ...]

    def __str__(self) -> str:
        return f"cannot hold what would be added, missing {written_amounts(dict(self.amounts))}"


@dataclass(slots=True, eq=False)
class PlacementRoom:
    """What is free for one placement.

    Attributes:
        ledger: What is reserved.
        holder: The placement.
        demand: What it selects takes of a cluster.
        held: The clusters that have a binding of it: nothing would be added there.
        brought: Returns what a binding brings that is on a resource snapshot of this name.
        refused: What was told of a fleet, so that it is told again as it was when it decided.
    """

    ledger: Ledger
    holder: ObjectKey
    demand: ClusterDemand
    held: frozenset[str]
    brought: Callable[[str], ClusterDemand]
    grown: bool = False
    refused: dict[Same, tuple[Rejection, ...]] = field(default_factory=dict, repr=False)

    def rejections(self, members: Members) -> tuple[Rejection, ...]:
        """Return the clusters that cannot hold it, one rejection for each lack."""
        return remember(self.refused, Same(members), lambda: tuple(self._full(members)))

    def lacking(self, members: Members, position: int) -> Lacking | None:
        """Return what one cluster lacks, `None` if it holds what would be added."""
        if members.fleet.names[position] in self.held:
            return None
        return self._lack(members, position, self.demand.resources, {})

    def _lack(
        self, members: Members, position: int, added: Resources, had: Resources
    ) -> Lacking | None:
        """Return what one cluster lacks for more, beside what the placement has there."""
        free = available(members)[position]
        if free is None:
            return None
        taken = self.ledger.taken(API, self.holder, members.fleet.names[position], had)
        wanted = plus(added, taken)
        lack = beyond({name: wanted[name] for name in added if name in free}, free)
        return Lacking(tuple(sorted(lack.items()))) if lack else None

    def reasons(self, members: Members) -> dict[int, str]:
        """Return why clusters cannot hold it, by position."""
        found: dict[int, str] = {}
        for one in self.rejections(members):
            found |= dict.fromkeys(positions_of(one.clusters), str(one.reason))
        return found

    @property
    def short(self) -> bool:
        """Whether a cluster was refused."""
        return self.grown or any(self.refused.values())

    def full(
        self, bindings: Mapping[str, Binding], latest: str, members: Members
    ) -> dict[str, str]:
        """Return the clusters that cannot hold what the latest snapshot adds, and why.

        Args:
            bindings: Of the placement, by name.
            latest: The snapshot of what is selected.
            members: Everyone.
        """
        found = {}
        for one in bindings.values():
            position = members.fleet.position.get(one.target)
            if one.resource_snapshot in ("", latest) or position is None:
                continue
            had = self.brought(one.resource_snapshot).resources
            grown = beyond(self.demand.resources, had)
            lack = self._lack(members, position, grown, had) if grown else None
            if lack is not None:
                found[str(one.target)] = str(lack)
        self.grown |= bool(found)
        return found

    def _full(self, members: Members) -> Iterable[Rejection]:
        if not self.demand.resources:
            return
        by_lack: dict[Lacking, list[int]] = {}
        for position in range(len(members.views)):
            lack = self.lacking(members, position)
            if lack is not None:
                by_lack.setdefault(lack, []).append(position)
        for lack, positions in by_lack.items():
            yield Rejection(mask_of(positions), lack, REMEDY)


def available(members: Members) -> tuple[Resources | None, ...]:
    """Return what each cluster reports as available, `None` where it reports nothing."""
    return remember(members.available, True, lambda: tuple(map(_available, members.views)))


def _available(view: Member) -> Resources | None:
    return readable_resources(view.usage.get("available", {}))


def lacks_room(rejections: Iterable[Rejection]) -> bool:
    """Return whether a cluster was turned away for nothing but lack of room."""
    return any(isinstance(one.reason, Lacking) for one in rejections)
