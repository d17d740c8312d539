"""What becomes of an object on each cluster, between one placement and another."""

from collections.abc import Iterable
from typing import NamedTuple

from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName


class PlacementMove(NamedTuple):
    """One cluster of one object; `None` means not there, 0 that it has no replicas to count."""

    cluster: ClusterName
    before: int | None
    after: int | None

    @property
    def delta(self) -> int:
        """How many replicas come, or go if negative."""
        return (self.after or 0) - (self.before or 0)


def moves_of(before: Placed, after: Placed) -> tuple[PlacementMove, ...]:
    """Return every cluster of either side, ascending by name."""
    then, later = dict(before), dict(after)
    names = sorted(then.keys() | later.keys())
    return tuple([PlacementMove(name, then.get(name), later.get(name)) for name in names])


def parts_moved(moves: Iterable[PlacementMove]) -> int:
    """Return how many parts of one object leave one cluster for another."""
    return min(came_and_left(moves))


def came_and_left(moves: Iterable[PlacementMove]) -> tuple[int, int]:
    """Return how many parts come to clusters, and how many leave them."""
    return _sums([parts_in(one.after) - parts_in(one.before) for one in moves])


class Traffic(NamedTuple):
    """How many replicas come to clusters and leave them, and copies of what has no replicas."""

    came: int
    left: int
    apart: int


def traffic(moves: Iterable[PlacementMove]) -> Traffic:
    """Return what comes and leaves.

    >>> traffic(moves_of((("a", 3), ("b", 1)), (("b", 2), ("c", 0))))
    Traffic(came=1, left=3, apart=1)
    """
    listed = list(moves)
    return Traffic(
        came=sum(max(one.delta, 0) for one in listed),
        left=sum(max(-one.delta, 0) for one in listed),
        apart=sum(not (one.before or one.after) and one.before != one.after for one in listed),
    )


def parts_between(before: Placed, after: Placed) -> tuple[int, int]:
    """Return the same of all clusters of either side.

    >>> parts_between((("a", 3),), (("a", 1), ("b", 2)))
    (2, 2)
    """
    then, later = dict(before), dict(after)
    names = then.keys() | later.keys()
    return _sums([parts_in(later.get(name)) - parts_in(then.get(name)) for name in names])


def parts_in(count: int | None) -> int:
    """Return how many parts stand for a cluster's share; an object without replicas is one."""
    return 0 if count is None else max(count, 1)


def _sums(changes: list[int]) -> tuple[int, int]:
    """Return what is gained in all, and what is lost."""
    came = sum([change for change in changes if change > 0])
    return came, came - sum(changes)
