"""What becomes of an object on each cluster, between one placement and another."""

from collections.abc import Iterable
from dataclasses import dataclass

from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName


@dataclass(frozen=True, slots=True)
class PlacementMove:
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
    return tuple(
        PlacementMove(name, then.get(name), later.get(name))
        for name in sorted(then.keys() | later.keys())
    )


def parts_moved(moves: Iterable[PlacementMove]) -> int:
    """Return how many parts of one object leave one cluster for another."""
    parts = [(_parts(one.before), _parts(one.after)) for one in moves]
    came = sum(max(after - before, 0) for before, after in parts)
    left = sum(max(before - after, 0) for before, after in parts)
    return min(came, left)


def _parts(count: int | None) -> int:
    """Return how many parts stand for a cluster's share."""
    return 0 if count is None else max(count, 1)
