"""Stamps alone never make a change.

Where a desired body differs from the present one in moments set by this pass only, it takes over
the present moments.
"""

from collections.abc import Mapping

from reconciler.model.moments import Stamp
from reconciler.model.world import Body


def keep_moments(desired: Body, present: Body | None) -> Body:
    """Return the desired body, with the present moments if nothing else differs.

    The order of keys is that of `desired`, so that a file has one form.

    >>> keep_moments({"at": Stamp("2026-01-02T00:00:00Z")}, {"at": "2026-01-01T00:00:00Z"})
    {'at': '2026-01-01T00:00:00Z'}
    """
    if present is None or desired is present or desired == present or not _same(desired, present):
        return desired
    return {key: _take_over(value, present[key]) for key, value in desired.items()}


def at_rest(desired: Body, present: Body | None) -> Body:
    """Return `present` itself where nothing but stamps would change, else the desired body.

    "Nothing" is meant to the letter: the same types and keys in the same order, so that both are
    written as the same bytes. What is at rest can be told by `is`.

    >>> present = {"at": "2026-01-01T00:00:00Z"}
    >>> at_rest({"at": Stamp("2026-01-02T00:00:00Z")}, present) is present
    True
    """
    kept = keep_moments(desired, present)
    return present if present is not None and _identical(kept, present) else kept


def _identical(one: object, other: object) -> bool:
    """Say whether two values are written as the same bytes."""
    if one is other:
        return True
    if isinstance(one, str):
        return isinstance(other, str) and one == other
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and len(one) == len(other)
            and all(
                mine == theirs and _identical(one[mine], other[theirs])
                for mine, theirs in zip(one, other, strict=True)
            )
        )
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(map(_identical, one, other))
        )
    return type(one) is type(other) and repr(one) == repr(other)


def _same(desired: object, present: object) -> bool:
    """Say whether two values are equal but for stamps."""
    if isinstance(desired, Stamp):
        return isinstance(present, str)
    if type(desired) is str or type(desired) is int:  # nearly all there is
        return type(present) in (str, Stamp, int) and desired == present
    if isinstance(desired, Mapping):
        return (
            isinstance(present, Mapping)
            and desired.keys() == present.keys()
            and all(_same(value, present[key]) for key, value in desired.items())
        )
    if isinstance(desired, list | tuple):
        return (
            isinstance(present, list | tuple)
            and len(desired) == len(present)
            and all(_same(mine, theirs) for mine, theirs in zip(desired, present, strict=True))
        )
    return type(desired) is type(present) and desired == present


def _take_over(desired: object, present: object) -> object:
    """Return `desired` with the moments of `present`, which is the same but for stamps."""
    if isinstance(desired, Stamp):
        return present
    if isinstance(desired, Mapping) and isinstance(present, Mapping):
        return {key: _take_over(value, present[key]) for key, value in desired.items()}
    if isinstance(desired, list | tuple) and isinstance(present, list | tuple):
        return [_take_over(mine, theirs) for mine, theirs in zip(desired, present, strict=True)]
    return desired
