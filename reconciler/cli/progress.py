"""A bar on standard error while many files are read, on terminals only."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

FEW = 500  # ours: fewer files are read in less time than a bar takes to appear


def tracked(items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the items, with a bar where somebody watches and there are many.

    Args:
        items: What is worked through.
        total: How many there are.
    """
    if total <= FEW or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description="Reading manifests")
