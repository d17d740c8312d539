"""How often Python looks for objects that refer to each other in a circle."""

import gc

COLLECTIONS = (5_000_000, 50, 1000)  # documents have no cycles, yet visiting them takes long


def collect_seldom() -> None:
    """Let this process look seldom."""
    gc.set_threshold(*COLLECTIONS)
