"""Capacity: where room is protected, a duplicated workload needs room for all its replicas.

Ours: upstream's scheduler asks for room in divisions only, and only of what clusters report.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

from reconciler.dialects.karmada.api.clusters import Members, Requirements
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources
from reconciler.schedule.capacity.reservation import written_amounts
from reconciler.schedule.columns import listed
from reconciler.schedule.framework import Mask, Rejection, mask_of, positions_of

FEW = 4  # ours: so many times less than the fleet are asked one by one
REMEDY = "have so much more that is neither used nor reserved"


@dataclass(frozen=True, slots=True)
class NoRoom:
    """What a cluster lacks for what would be added; nothing where no node has room for a pod."""

    lacking: tuple[tuple[str, Quantity], ...]

    def __str__(self) -> str:
        return f"cluster(s) cannot hold what would be added, missing {self.missing}"

    @property
    def missing(self) -> str:
        """What it lacks, as people read it."""
        return missing(dict(self.lacking))


def missing(lacking: Resources) -> str:
    """Return what is lacking, as people read it."""
    return written_amounts(lacking) if lacking else "nodes with room for it"


def reject_full(request: Request, _members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that have no room for all replicas, but for those that have some already.

    What is there already stays, with as many replicas as it has.
    """
    room, binding = request.room, request.binding
    if room is None or not binding.replicas or not request.placement.duplicated:
        return ()
    asked = request.affinity_name, binding.replicas
    if asked not in room.refused:
        room.refused[asked] = tuple(_full(request, room))
    return room.refused[asked]


def _rooms(
    room: BindingRoom, requirements: Requirements | None, clusters: Mask
) -> Iterator[tuple[int, int]]:
    """Yield how many replicas each of some clusters can take; of a few, nothing else is asked."""
    if clusters.bit_count() * FEW < len(room.fleet.members.views):
        for position in positions_of(clusters):
            yield position, room.more_at(position, requirements)
        return
    column = listed(room.more(requirements))
    yield from ((position, column[position]) for position in positions_of(clusters))


def _full(request: Request, room: BindingRoom) -> Iterator[Rejection]:
    binding, limited = request.binding, room.fleet.limited
    holding = mask_of(position for position, held in request.held if held)
    limited = Mask(limited & ~holding)
    meant = map(room.fleet.members.matching, request.affinities or ())
    if request.affinities is not None:
        limited = Mask(limited & reduce(or_, meant, 0))
    by_lack: dict[tuple[tuple[str, Quantity], ...], list[int]] = {}
    for position, more in _rooms(room, binding.requirements, limited):
        if more < binding.replicas:
            lack = room.lacking(position, binding.requirements, binding.replicas)
            by_lack.setdefault(tuple(sorted(lack.items())), []).append(position)
    for amounts, positions in by_lack.items():
        yield Rejection(mask_of(positions), NoRoom(amounts), REMEDY)
