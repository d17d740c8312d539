"""A division cut to what its clusters can hold, where room is protected; the rest goes nowhere.

Divisions by room keep to it by themselves. A duplicated workload has all its replicas on a cluster
or those that it has there; a static weight gives a cluster as many as fit.
"""

from collections.abc import Iterable, Sequence

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.clusters import Members, Requirements, TargetCluster
from reconciler.dialects.karmada.api.placement import Placement
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.dialects.karmada.scheduler.division import Division, DivisionStrategy, strategy_of
from reconciler.dialects.karmada.scheduler.failure import Failure, FailureKind, unschedulable
from reconciler.dialects.karmada.scheduler.filter_room import NoRoom, missing
from reconciler.dialects.karmada.scheduler.rank import Ranking
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.model.enumeration import enumerated
from reconciler.schedule.capacity.reservation import times, with_pod, written_amounts
from reconciler.schedule.framework import Rejection, positions_of

NAMED = 3
CUT = frozenset({DivisionStrategy.DUPLICATED, DivisionStrategy.STATIC_WEIGHT})


def depends_on_room(placement: Placement) -> bool:
    """Return whether room decides among clusters, and not only how much each of them gets."""
    overflows = any(term.overflow for term in placement.cluster_affinities or ())
    return overflows or bool(placement.spread_constraints) or strategy_of(placement) not in CUT


def cut_to_room(
    division: Division, request: Request, room: BindingRoom, members: Members
) -> tuple[Division, str]:
    """Return a division as far as its clusters can hold it, and what they lack for the rest."""
    if division.strategy not in CUT or not request.binding.replicas:
        return division, ""
    if division.strategy is DivisionStrategy.DUPLICATED and not request.held:
        return division, ""  # the filter has seen to that
    requirements, limited = request.binding.requirements, room.fleet.limited
    held = dict(reversed(request.held))
    duplicated = division.strategy is DivisionStrategy.DUPLICATED
    lacking: list[str] = []
    shares: list[tuple[int, int]] = []
    for position, count in division.shares:
        has = held.get(position, 0)
        fits = count <= has or not limited >> position & 1
        if fits or (duplicated and not has):
            shares.append((position, count))
            continue
        most = has + room.more_at(position, requirements)
        if count > most:
            lack = missing(room.lacking(position, requirements, count - has))
            lacking.append(f"{members.fleet.names[position]} lacks {lack}")
            fitting = has if duplicated else most
            shares += [(position, fitting)] if fitting else []
        else:
            shares.append((position, count))
    if not lacking:
        return division, ""
    return division._replace(shares=shares, each=None, clusters=()), short_of(lacking)


def short_of(lacking: Iterable[str]) -> str:
    """Return that not all replicas have room, and which clusters lack what."""
    return f"not all replicas have room: {enumerated(lacking, NAMED)}"


def turned_away(request: Request, rejections: Iterable[Rejection], members: Members) -> str:
    """Return that clusters have no room which were meant, `""` if all that were meant have some.

    Where spread constraints choose among clusters, others may do.
    """
    if request.placement.spread_constraints:
        return ""
    names = members.fleet.names
    lacking = [
        f"{names[position]} lacks {one.reason.missing}"
        for one in rejections
        if isinstance(one.reason, NoRoom)
        for position in positions_of(one.clusters)
    ]
    return short_of(lacking) if lacking else ""


def loses(division: Division, held: Sequence[tuple[int, int]]) -> bool:
    """Return whether there would be fewer replicas than there are."""
    return sum(count for _, count in division.shares) < sum(count for _, count in held)


def goal_beyond_room(goal: Iterable[TargetCluster], binding: Binding, room: BindingRoom) -> str:
    """Return which clusters have no room for a step to a goal, `""` if all have."""
    requirements, members = binding.requirements, room.fleet.members
    limited = room.fleet.limited
    lacking = []
    for name, count in goal:
        position, added = members.fleet.position.get(name), count - room.stood.get(name, 0)
        if position is None or added <= 0 or not limited >> position & 1:
            continue
        if added > room.more_at(position, requirements):
            lacking.append(f"{name} lacks {missing(room.lacking(position, requirements, added))}")
    return short_of(lacking) if lacking else ""


def told_with_missing(
    failure: Failure, request: Request, ranking: Ranking, selected: Sequence[int]
) -> Failure:
    """Return a failure for lack of room with what is missing."""
    if failure.kind is not FailureKind.UNSCHEDULABLE:
        return failure
    binding = request.binding
    there = sum(max(0, ranking.available(position)) for position in selected)
    count = binding.replicas - there
    if count <= 0:
        return failure
    return unschedulable(f"{failure.message} Missing: {_of_replicas(count, binding.requirements)}.")


def _of_replicas(count: int, requirements: Requirements | None) -> str:
    """Return what so many replicas take."""
    return written_amounts(times(with_pod(dict(requirements or ())), count))


def without_room(rejections: Iterable[Rejection]) -> bool:
    """Return whether a cluster was turned away for lack of room."""
    return any(isinstance(one.reason, NoRoom) for one in rejections)
