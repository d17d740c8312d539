"""Stamps alone never make a change.

Where a desired body differs from the present one in moments set by this pass only, or not at all,
the present one stays.
"""

from collections.abc import Mapping

from reconciler.model.body import Body
from reconciler.model.moments import Stamp


def keep_present(desired: Body, present: Body | None) -> Body:
    """Return `present` itself where nothing but stamps would change, else the desired body.

    The order of keys is no change either. So what is unchanged is seen by `is`, and a file keeps
    its form until it says something else.

    >>> present = {"at": "2026-01-01T00:00:00Z"}
    >>> keep_present({"at": Stamp("2026-01-02T00:00:00Z")}, present) is present
    True
    """
    if present is None or desired is present:
        return desired
    return present if _same(desired, present) else desired


def _same(desired: object, present: object) -> bool:
    """Return whether two values are equal but for stamps; most parts are, and soon told."""
    if desired == present:
        return True
    if isinstance(desired, Stamp):
        return isinstance(present, str)
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
    return False
