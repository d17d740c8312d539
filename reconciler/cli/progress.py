"""What a verb does and how far it is, once it took half a second; on terminals only.

It stands on standard error while the work lasts, and is gone before the answer is printed. Only the
thread that answers a verb tells of its work, by `telling`; servers do not.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


T = TypeVar("T")

AFTER_SECONDS = 0.5
"""What takes less is answered before it was read."""

READING, PASSES, HISTORY = "Reading manifests", "Computing passes", "Reading the history"

_teller: ContextVar["_Teller | None"] = ContextVar("_teller", default=None)


@contextmanager
def telling() -> Iterator[None]:
    """Tell of work while the block lasts, if somebody watches."""
    token = _teller.set(_Teller() if sys.stderr.isatty() else None)
    try:
        yield
    finally:
        _teller.reset(token)


@contextmanager
def doing(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Tell that something is done while the block lasts; work within work is told below it.

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
        what: The words before the bar.
    """
    with doing(what, total) as done:
        for item in items:
            yield item
            done()


def _nothing() -> None:
    """Nobody watches."""


class _Work:
    """One piece of work, and how much of it is done."""

    def __init__(self, what: str, total: int | None, advanced: Callable[["_Work"], None]) -> None:
        self.what, self.total, self.done = what, total, 0
        self.task: TaskID | None = None
        self._advanced = advanced

    @property
    def count(self) -> str:
        """How many pieces are done, `""` if nobody knows of how many."""
        return "" if self.total is None else f"{self.done:,} of {self.total:,}"

    def advance(self) -> None:
        """Count one more."""
        self.done += 1
        self._advanced(self)


class _Teller:
    """The lines on the terminal.

    A timer shows what is being done when half a second is over; what begins later is shown at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: list[_Work] = []
        self._progress: Progress | None = None
        self._timer: threading.Timer | None = None
        self._shown_at = time.monotonic() + AFTER_SECONDS

    def begin(self, what: str, total: int | None) -> _Work:
        """Begin a piece of work."""
        work = _Work(what, total, self._advanced)
        with self._lock:
            self._works.append(work)
            self._add(work)
        seconds = self._shown_at - time.monotonic()
        if seconds <= 0:
            self._show()
        elif self._timer is None:
            self._timer = threading.Timer(seconds, self._show)
            self._timer.daemon = True
            self._timer.start()
        return work

    def end(self, work: _Work) -> None:
        """End a piece of work, and take all away after the last one."""
        with self._lock:
            self._works.remove(work)
            if self._progress is not None and work.task is not None:
                self._progress.remove_task(work.task)
            if self._works:
                return
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def _show(self) -> None:
        """Show what is being done; the library is loaded only now."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        described = TextColumn("{task.description}"), BarColumn()
        counted = TextColumn("{task.fields[count]}"), TimeElapsedColumn()
        with self._lock:
            if not self._works or self._progress is not None:
                return
            self._progress = Progress(
                *described,
                *counted,
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            for work in self._works:
                self._add(work)
            self._progress.start()

    def _add(self, work: _Work) -> None:
        if self._progress is not None:
            work.task = self._progress.add_task(
                work.what, total=work.total, completed=work.done, count=work.count
            )

    def _advanced(self, work: _Work) -> None:
        progress, task = self._progress, work.task
        if progress is not None and task is not None:
            progress.update(task, completed=work.done, count=work.count)
