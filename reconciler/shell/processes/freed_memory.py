"""Memory that a pass has freed goes back to the system, which the C library alone does not do.

glibc keeps what lies below the last block in use; after a large pass that is up to a fifth of what
a daemon takes, another share of it in each run.
"""

import ctypes
from typing import Protocol


class _Trim(Protocol):
    def __call__(self, pad: int) -> int: ...


_TRIM: _Trim | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
"""Of the C library that runs; musl and macOS have none."""


def give_back() -> None:
    """Return what is free; nothing happens with a C library that cannot."""
    if _TRIM is not None:
        _TRIM(0)
