"""Memory that a pass has freed goes back to the system, which the C library alone does not do.

glibc keeps what lies below the last block in use; after a large pass that is up to a fifth of what
a daemon takes, another share of it in each run.
"""

import ctypes
from functools import cache
from typing import Protocol


class _Trim(Protocol):
    def __call__(self, pad: int) -> int: ...


def give_back() -> None:
    """Return what is free; nothing happens with a C library that cannot."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> _Trim | None:
    """Return `malloc_trim` of the C library that runs, which musl and macOS do not have."""
    trim: _Trim | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
