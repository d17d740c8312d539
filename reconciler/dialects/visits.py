"""The objects of a round in the order in which they are looked at: by key, each one once."""

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from reconciler.model.identity import ObjectKey


class Visits:
    """Objects to look at; while one is looked at, others that come after it may be added."""

    def __init__(self, keys: Iterable[ObjectKey]) -> None:
        """Begin with some objects."""
        self.seen = set(keys)
        self._ahead = list(self.seen)
        heapify(self._ahead)

    def __iter__(self) -> Iterator[ObjectKey]:
        while self._ahead:
            yield heappop(self._ahead)

    def add(self, keys: Iterable[ObjectKey]) -> None:
        """Look at other objects, too."""
        for key in keys:
            if key not in self.seen:
                self.seen.add(key)
                heappush(self._ahead, key)
