"""The only file that starts worker processes."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def start_workers(
    count: int, begin: Callable[..., None], *arguments: object
) -> "Iterator[ProcessPoolExecutor]":
    """Start worker processes, and end them when the block ends; what is not begun is dropped.

    Args:
        count: How many, at least one.
        begin: What each of them calls first, a function of a module.
        arguments: For that function; they are pickled.

    Raises:
        OSError: This machine cannot start any.
    """
    import multiprocessing  # noqa: PLC0415  # rarely needed, and slow
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    context = multiprocessing.get_context("spawn")  # a fork would copy threads in mid-air
    try:
        pool = ProcessPoolExecutor(count, context, _begin, (begin, arguments))
    except (ImportError, NotImplementedError) as error:  # no semaphores, or too few
        raise OSError(str(error)) from error
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(begin: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """Begin a worker; Ctrl-C is for its parent, which then ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    begin(*arguments)
