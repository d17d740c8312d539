"""A list of names in a sentence: the first of them, and how many more there are."""

from collections.abc import Iterable


def enumerated(names: Iterable[str], most: int) -> str:
    """Return the first names of a list, and how many more there are.

    >>> enumerated(("a", "b", "c", "d"), 3), enumerated(("a", "b"), 3), enumerated((), 3)
    ('a, b, c and 1 more', 'a, b', '')
    """
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
