"""Numbers over all clusters as columns: lists where clusters are few, numpy arrays where many.

The only file that knows which. Every result is exact: what 64 bits do not hold, numpy computes with
Python's numbers.
"""

from collections.abc import Iterable
from itertools import compress
from typing import TYPE_CHECKING, TypeAlias

from reconciler.schedule.framework import Mask, bits_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MANY = 500  # ours: from here on numpy earns the tenth of a second that it takes to load

Numbers: TypeAlias = "list[int] | NDArray[np.int64]"
"""One number for each cluster of a fleet, ascending by name."""


def column_of(numbers: Iterable[int]) -> Numbers:
    """Return the numbers as a column.

    >>> column_of([2, 2**64])
    [2, 18446744073709551616]
    """
    found = list(numbers)
    if len(found) < MANY:
        return found
    import numpy as np

    try:
        return np.array(found, dtype=np.int64)
    except OverflowError:
        return np.array(found, dtype=object)


def quotients(column: Numbers, divisor: int) -> Numbers:
    """Return each number divided, rounded down.

    >>> quotients(column_of([5, 9]), 3)
    [1, 3]
    """
    if isinstance(column, list):
        return [number // divisor for number in column]
    import numpy as np

    fits = divisor <= np.iinfo(np.int64).max
    return column // divisor if fits else column.astype(object) // divisor


def lesser(one: Numbers, other: Numbers) -> Numbers:
    """Return the lesser of two numbers, cluster by cluster.

    >>> lesser(column_of([1, 4]), column_of([2, 3]))
    [1, 3]
    """
    if isinstance(one, list):
        return list(map(min, one, other))
    import numpy as np

    return np.minimum(one, other)


def listed(column: Numbers) -> list[int]:
    """Return the numbers as Python's own."""
    return column if isinstance(column, list) else column.tolist()


class Order:
    """The clusters by a number, the greatest first, equal ones by name.

    >>> Order(column_of([3, 5, 3])).positions
    (1, 0, 2)
    >>> Order(column_of([3, 5, 3])).among(Mask(0b101))
    (0, 2)
    """

    __slots__ = ("_places", "positions")

    def __init__(self, column: Numbers) -> None:
        """Sort the clusters."""
        if isinstance(column, list):
            self._places = None
            found = sorted(range(len(column)), key=column.__getitem__, reverse=True)
        else:  # -column would overflow at the least number
            self._places = (~column).argsort(kind="stable")
            found = self._places.tolist()
        self.positions: tuple[int, ...] = tuple(found)

    def among(self, clusters: Mask) -> tuple[int, ...]:
        """Return the positions of some clusters only, in this order."""
        size = len(self.positions)
        if self._places is None:
            chosen = bytes(map(bits_of(clusters, size).__getitem__, self.positions))
        else:
            import numpy as np

            bits = np.frombuffer(bits_of(clusters, size), dtype=np.uint8)
            chosen = bits[self._places].tobytes()
        return tuple(compress(self.positions, chosen))
