"""What a verb does and how far it is, once it took half a second; on terminals only.

It stands on standard error while the work lasts, and is gone before the answer is printed. Only the
thread that answers a verb tells of its work, by `telling`; servers do not.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import click

from reconciler.model.records import dataclass, field

T = TypeVar("T")

AFTER_SECONDS = 0.5
"""What takes less is answered before it was read."""

EVERY_SECONDS = 0.2
"""So often it is told anew."""

ERASED = "\r\x1b[K"

READING, PASSES, HISTORY = "Reading manifests", "Computing passes", "Reading the history"

_teller: ContextVar["_Teller | None"] = ContextVar("_teller", default=None)


@contextmanager
def telling() -> Iterator[None]:
    """Tell of work while the block lasts, if somebody watches."""
    watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    token = _teller.set(_Teller() if watched else None)
    try:
        yield
    finally:
        _teller.reset(token)


@contextmanager
def doing(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Tell that something is done while the block lasts; work within work is told behind it.

    Args:
        what: A clause such as "Reading manifests".
        total: How many pieces it has, `None` if nobody knows: then the time is told that it takes.

    Yields:
        What is called after each piece.
    """
    teller = _teller.get()
    if teller is None:
        yield _nothing
        return
    work = teller.begin(what, total)
    try:
        yield work.advance
    finally:
        teller.end(work)


def tracked(items: Iterable[T], total: int, *, what: str = READING) -> Iterator[T]:
    """Yield the items, and tell how far it is.

    Args:
        items: What is worked through.
        total: How many there are.
        what: The words before the count.
    """
    with doing(what, total) as done:
        for item in items:
            yield item
            done()


def _nothing() -> None:
    """Nobody watches."""


@dataclass(slots=True, eq=False)
class _Work:
    """One piece of work, and how much of it is done; `total` is `None` if nobody knows of it."""

    what: str
    total: int | None
    done: int = 0
    began_at: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        if self.total is None:
            return self.what
        return f"{self.what} {self.done:,} of {self.total:,}"

    def advance(self) -> None:
        """Count one more."""
        self.done += 1


class _Teller:
    """The line on the terminal: the time, and each piece of work behind what it is part of.

    A timer shows what is being done when half a second is over, and again while it lasts; what
    begins later is shown at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: list[_Work] = []
        self._timer: threading.Timer | None = None
        self._shown_at = time.monotonic() + AFTER_SECONDS
        self._shown = False

    def begin(self, what: str, total: int | None) -> _Work:
        """Begin a piece of work."""
        work = _Work(what, total)
        with self._lock:
            self._works.append(work)
            self._tell()
        return work

    def end(self, work: _Work) -> None:
        """End a piece of work, and take all away after the last one."""
        with self._lock:
            self._works.remove(work)
            if self._works:
                return
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._shown:
                click.echo(ERASED, nl=False, err=True)
                self._shown = False

    def _tell(self) -> None:
        """Show what is being done if it is time, and wait until it is to be shown again."""
        wait = self._shown_at - time.monotonic()
        if wait <= 0:
            self._show()
        if self._timer is None:
            self._timer = threading.Timer(wait if wait > 0 else EVERY_SECONDS, self._go_on)
            self._timer.daemon = True
            self._timer.start()

    def _go_on(self) -> None:
        """Tell again what is still being done."""
        with self._lock:
            if self._works and threading.current_thread() is self._timer:
                self._timer = None
                self._tell()

    def _show(self) -> None:
        """Write the line anew, as much of it as the terminal is wide."""
        seconds = int(time.monotonic() - self._works[0].began_at)
        line = f"{seconds // 60}:{seconds % 60:02}  {', '.join(map(str, self._works))}"
        width = shutil.get_terminal_size().columns
        click.echo(f"{ERASED}{line[: width - 1]}", nl=False, err=True)
        self._shown = True
