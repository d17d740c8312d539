"""A bar on standard error while there is much to do, on terminals only."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

FEW = 500  # ours: fewer files are read in less time than a bar takes to appear


def tracked(
    items: Iterable[T], total: int, *, what: str = "Reading manifests", few: int = FEW
) -> Iterator[T]:
    """Yield the items, with a bar where somebody watches and there are many.

    Args:
        items: What is worked through.
        total: How many there are.
        what: The words before the bar.
        few: Up to so many need no bar.
    """
    if total <= few or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description=what)
