"""How often Python looks for objects that refer to each other in a circle.

Documents have no circles, yet visiting them takes long, so a verb that ends soon hardly looks. What
serves for months must: each request and each pass leaves circles. There Python looks at what is new
at every `YOUNG` objects, which visits each of them twice at most, and at everything where a quarter
has come since, as its own rule has it.
"""

import gc

YOUNG = 10_000
SELDOM = (5_000_000, 50, 1000)
STEADILY = (YOUNG, 50, 10)


def collect_seldom() -> None:
    """Let a process that ends soon look seldom."""
    gc.set_threshold(*SELDOM)


def collect_steadily() -> None:
    """Let a process that lives for long look as it goes on."""
    gc.set_threshold(*STEADILY)
