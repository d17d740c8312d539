"""The order in which Go's unstable `sort.Sort` leaves equal elements.

Upstream sorts clusters by replicas alone with a sort that is not stable, and then cuts the list;
who is left before the cut among equals is decided by that sort's path. It is pattern-defeating
quicksort: insertion sort up to twelve elements, else a pivot by medians of positions, a partition,
and a shuffle by a generator seeded with the length when partitions come out lopsided. Every swap
matters here, so each step follows the published algorithm of Go's package `sort` (since 1.19).
"""

from collections.abc import Sequence
from enum import Enum, auto
from operator import ge
from typing import TypeVar

T = TypeVar("T")

MAX_INSERTION = 12
SHORTEST_NINTHER = 50
MAX_PIVOT_SWAPS = 4 * 3
MAX_REPAIR_STEPS = 5
SHORTEST_SHIFTING = 50
_WORD = 0xFFFFFFFFFFFFFFFF


class _Hint(Enum):
    UNKNOWN = auto()
    INCREASING = auto()
    DECREASING = auto()


def sort_descending(items: Sequence[T], keys: Sequence[int]) -> list[T]:
    """Return the items by key, greatest first, equal ones where Go's `sort.Sort` would leave them.

    Args:
        items: In the order that Go would be given.
        keys: The key of each item.

    Source: karmada@f8fdd02 pkg/scheduler/core/division_algorithm.go `TargetClustersList`, sorted by
    `sort.Sort`; Go src/sort/zsortinterface.go `pdqsort`.

    >>> sort_descending("abc", [1, 2, 1])
    ['b', 'a', 'c']
    """
    if all(map(ge, keys, keys[1:])):  # pdqsort leaves an ordered list alone
        return list(items)
    if len(items) <= MAX_INSERTION:  # insertion sort is stable, and so is the built-in
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=True)
    else:
        run = _Run([-key for key in keys])
        run.sort(0, len(keys), len(keys).bit_length())
        order = run.order
    return [items[position] for position in order]


class _Run:
    """One sort under way: the keys, ascending is the aim, and the permutation made so far."""

    __slots__ = ("keys", "order")

    def __init__(self, keys: list[int]) -> None:
        self.keys = keys
        self.order = list(range(len(keys)))

    def swap(self, i: int, j: int) -> None:
        """Exchange two elements."""
        keys, order = self.keys, self.order
        keys[i], keys[j] = keys[j], keys[i]
        order[i], order[j] = order[j], order[i]

    def sort(self, a: int, b: int, limit: int) -> None:
        """Sort [a, b): recurse into the smaller part, go on with the greater one."""
        was_balanced = was_partitioned = True
        while True:
            length = b - a
            if length <= MAX_INSERTION:
                self.insertion_sort(a, b)
                return
            if limit == 0:
                self.heap_sort(a, b)
                return
            if not was_balanced:
                self.break_patterns(a, b)
                limit -= 1
            pivot, hint = self.choose_pivot(a, b)
            if hint is _Hint.DECREASING:
                self.reverse_range(a, b)
                pivot = (b - 1) - (pivot - a)
                hint = _Hint.INCREASING
            if (
                was_balanced
                and was_partitioned
                and hint is _Hint.INCREASING
                and self.partial_insertion_sort(a, b)
            ):
                return
            if a > 0 and not self.keys[a - 1] < self.keys[pivot]:
                a = self.partition_equal(a, b, pivot)
                continue
            middle, was_partitioned = self.partition(a, b, pivot)
            left, right = middle - a, b - middle
            if left < right:
                was_balanced = left >= length // 8
                self.sort(a, middle, limit)
                a = middle + 1
            else:
                was_balanced = right >= length // 8
                self.sort(middle + 1, b, limit)
                b = middle

    def insertion_sort(self, a: int, b: int) -> None:
        """Sort a short range, stably."""
        keys = self.keys
        for i in range(a + 1, b):
            j = i
            while j > a and keys[j] < keys[j - 1]:
                self.swap(j, j - 1)
                j -= 1

    def heap_sort(self, first: int, b: int) -> None:
        """Sort a range on which quicksort went astray too often."""
        high = b - first
        for i in range((high - 1) // 2, -1, -1):
            self.sift_down(i, high, first)
        for i in range(high - 1, -1, -1):
            self.swap(first, first + i)
            self.sift_down(0, i, first)

    def sift_down(self, low: int, high: int, first: int) -> None:
        """Restore the heap below one element."""
        keys, root = self.keys, low
        while (child := 2 * root + 1) < high:
            if child + 1 < high and keys[first + child] < keys[first + child + 1]:
                child += 1
            if not keys[first + root] < keys[first + child]:
                return
            self.swap(first + root, first + child)
            root = child

    def partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Move the lesser before the pivot; tell where it ends, and whether nothing had to move."""
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        i, j = self.close_in(i, j, a)
        if i > j:
            self.swap(j, a)
            return j, True
        self.swap(i, j)
        i, j = i + 1, j - 1
        while True:
            i, j = self.close_in(i, j, a)
            if i > j:
                break
            self.swap(i, j)
            i, j = i + 1, j - 1
        self.swap(j, a)
        return j, False

    def close_in(self, i: int, j: int, pivot: int) -> tuple[int, int]:
        """Step over the elements that stand on the right side of the pivot already."""
        keys = self.keys
        while i <= j and keys[i] < keys[pivot]:
            i += 1
        while i <= j and not keys[j] < keys[pivot]:
            j -= 1
        return i, j

    def partition_equal(self, a: int, b: int, pivot: int) -> int:
        """Move the elements equal to the pivot, which is the least, to the front."""
        keys = self.keys
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not keys[a] < keys[i]:
                i += 1
            while i <= j and keys[a] < keys[j]:
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1

    def partial_insertion_sort(self, a: int, b: int) -> bool:
        """Repair up to five misplaced pairs; tell whether the range is in order then."""
        keys = self.keys
        i = a + 1
        for _ in range(MAX_REPAIR_STEPS):
            while i < b and not keys[i] < keys[i - 1]:
                i += 1
            if i == b:
                return True
            if b - a < SHORTEST_SHIFTING:
                return False
            self.swap(i, i - 1)
            if i - a >= 2:
                self.sift_pairs(range(i - 1, 0, -1))
            if b - i >= 2:
                self.sift_pairs(range(i + 1, b))
        return False

    def sift_pairs(self, positions: range) -> None:
        """Exchange neighbours along the way until a pair is in order."""
        for j in positions:
            if not self.keys[j] < self.keys[j - 1]:
                return
            self.swap(j, j - 1)

    def break_patterns(self, a: int, b: int) -> None:
        """Scatter three elements around the middle, by a xorshift seeded with the length."""
        length = b - a
        if length < 8:
            return
        random = length
        modulus = 1 << length.bit_length()
        index = a + (length // 4) * 2 - 1
        for i in range(3):
            random ^= random << 13 & _WORD
            random ^= random >> 7
            random ^= random << 17 & _WORD
            other = random & (modulus - 1)
            if other >= length:
                other -= length
            self.swap(index + i, a + other)

    def choose_pivot(self, a: int, b: int) -> tuple[int, _Hint]:
        """Return the position of the pivot, and what its search says about the order."""
        length = b - a
        swaps = [0]
        i, j, k = (a + length // 4 * step for step in (1, 2, 3))
        if length >= 8:
            if length >= SHORTEST_NINTHER:
                i, j, k = (self.median(m - 1, m, m + 1, swaps) for m in (i, j, k))
            j = self.median(i, j, k, swaps)
        if swaps[0] == 0:
            return j, _Hint.INCREASING
        if swaps[0] == MAX_PIVOT_SWAPS:
            return j, _Hint.DECREASING
        return j, _Hint.UNKNOWN

    def median(self, a: int, b: int, c: int, swaps: list[int]) -> int:
        """Return the position of the median of three, counting the exchanges."""
        a, b = self.ordered(a, b, swaps)
        b, c = self.ordered(b, c, swaps)
        a, b = self.ordered(a, b, swaps)
        return b

    def ordered(self, a: int, b: int, swaps: list[int]) -> tuple[int, int]:
        """Return two positions by their keys, counting an exchange."""
        if self.keys[b] < self.keys[a]:
            swaps[0] += 1
            return b, a
        return a, b

    def reverse_range(self, a: int, b: int) -> None:
        """Turn a range around."""
        i, j = a, b - 1
        while i < j:
            self.swap(i, j)
            i, j = i + 1, j - 1
