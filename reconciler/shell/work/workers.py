"""The only file that starts worker processes.

They begin anew: a fork would copy threads in mid-air.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from reconciler.shell.processes.garbage import collect_seldom

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_start_processes() -> bool:
    """Return whether this process may have others below it; one of `multiprocessing` may be barred.

    So are the workers of a Dask cluster, which a nanny restarts.
    """
    known = sys.modules.get("multiprocessing.process")  # not loaded means: started by hand
    return known is None or not known.current_process().daemon


@contextlib.contextmanager
def start_pool(count: int) -> "Iterator[ProcessPoolExecutor]":
    """Start so many processes that take calls, and end them with the block.

    What is not begun by then is dropped.
    """
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415  # rarely needed, and slow
    from multiprocessing.context import SpawnContext  # noqa: PLC0415

    from reconciler.shell.work.lost_workers import watched  # noqa: PLC0415  # as the pool

    pool = ProcessPoolExecutor(count, SpawnContext(), _begin_work)
    with watched(pool):
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def start_helpers(
    count: int, serve: "Callable[[Connection], None]"
) -> "Iterator[Sequence[Connection]]":
    """Start processes that talk through a pipe each, and end them with the block.

    Args:
        count: How many.
        serve: What each of them does with its end of the pipe, a function of a module. It ends when
            the other end is closed. Whatever it needs must go through the pipe: one that is killed
            before it has read what it was started with would leave this process writing for ever.

    Yields:
        Our ends; fewer where this machine has no more processes to give.
    """
    from multiprocessing.context import SpawnContext  # noqa: PLC0415  # rarely needed, and slow

    context = SpawnContext()
    with contextlib.ExitStack() as stack:
        ends = []
        with contextlib.suppress(OSError):
            for _ in range(count):
                ours, theirs = context.Pipe()
                stack.callback(ours.close)
                with theirs:
                    process = context.Process(target=_serve, args=(serve, theirs))
                    stack.callback(_end, process)
                    _start(process)
                ends.append(ours)
        yield ends


def _start(process: "BaseProcess") -> None:
    """Start a process that Ctrl-C does not reach from its first moment on; it is kept for us."""
    from multiprocessing.resource_tracker import ensure_running  # noqa: PLC0415

    ensure_running()  # it would be started on the way, and let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a new process inherits it
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(process: "BaseProcess") -> None:
    """End a process, if it was started."""
    if process.pid is not None:
        process.terminate()
        process.join()


def _begin_work() -> None:
    """Begin as every process of ours that computes."""
    _ignore_interrupts()
    collect_seldom()


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent, which then ends this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _serve(serve: "Callable[[Connection], None]", end: "Connection") -> None:
    """Serve until the other end is closed."""
    with contextlib.suppress(EOFError, OSError):
        _ignore_interrupts()
        serve(end)
