"""Hands out pieces of long work to an executor, whichever it is; results come in order.

This is the only file that starts worker processes. They begin anew: a fork would copy threads in
mid-air.

If a worker is killed while it sends an answer, the whole pool ends. Of half a message the pool
would wait for the rest for ever, as the other workers could still write into the same pipe. With
all of them gone, and our end of it closed, it sees that none comes.
"""

import contextlib
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, TypeVar

from reconciler.model.records import dataclass
from reconciler.shell.processes.limits import collect_seldom

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


P = TypeVar("P")
R = TypeVar("R")

AHEAD = 2  # pieces of each worker: one that it works at, one that waits for it


@dataclass(frozen=True, slots=True)
class Workers:
    """An executor, and how many calls it works at side by side."""

    executor: Executor
    count: int


def results_of(
    workers: Workers | None, call: Callable[[P], R], pieces: Iterable[P]
) -> Iterator[tuple[P, R]]:
    """Yield each piece with its result, in the order given; few pieces exist at a time.

    What the executor loses with its workers is done in this process: it takes longer, and that is
    all. An executor that can give a piece to another worker does so by itself.

    Args:
        workers: Who does it; `None` is this process.
        call: A function of a module, which answers by its piece alone.
        pieces: Values that another process can be sent.
    """
    if workers is None:
        yield from ((piece, call(piece)) for piece in pieces)
        return
    begun: deque[tuple[P, Future[R] | None]] = deque()
    for piece in pieces:
        begun.append((piece, _begin(workers.executor, call, piece)))
        if len(begun) > AHEAD * workers.count:
            yield _finish(call, *begun.popleft())
    while begun:
        yield _finish(call, *begun.popleft())


def size_of_pieces(total: int, workers: Workers | None, *, least: int, most: int) -> int:
    """Return how many items a piece has: workers come back often enough to end together.

    >>> size_of_pieces(1000, Workers(Executor(), 2), least=8, most=256)
    125
    """
    if workers is None:
        return most
    return max(least, min(most, -(-total // (4 * workers.count))))


def _begin(executor: Executor, call: Callable[[P], R], piece: P) -> Future[R] | None:
    """Hand out a piece; `None` if there is no worker left."""
    try:
        return executor.submit(call, piece)
    except BrokenExecutor:
        return None


def _finish(call: Callable[[P], R], piece: P, future: Future[R] | None) -> tuple[P, R]:
    """Take a result, or find it here if it was lost."""
    try:
        return piece, call(piece) if future is None else future.result()
    except BrokenExecutor:
        return piece, call(piece)


def may_start_processes() -> bool:
    """Return whether this process may have others below it; one of `multiprocessing` may be barred.

    So are the workers of a Dask cluster, which a nanny restarts.
    """
    module = sys.modules.get("multiprocessing.process")  # not loaded means: started by hand
    return module is None or not module.current_process().daemon


@contextlib.contextmanager
def start_pool(count: int) -> "Iterator[ProcessPoolExecutor]":
    """Start so many processes that take calls, and end them with the block.

    What is not begun by then is dropped.
    """
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415  # rarely needed, and slow
    from multiprocessing.context import SpawnContext  # noqa: PLC0415

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
                    stack.callback(_end_process, process)
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


def _end_process(process: "BaseProcess") -> None:
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


EVERY_SECONDS = 1.0  # how often the workers are looked at
GRACE_SECONDS = 2.0  # in which a pool sees by itself that a worker is gone, if it can


@contextlib.contextmanager
def watched(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Watch the workers of a pool as long as the block lasts."""
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(pool, over), name="lost workers", daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _watch(pool: ProcessPoolExecutor, over: threading.Event) -> None:
    """Look at the workers until it is over, or one is lost."""
    while not over.wait(EVERY_SECONDS):
        if any(process.exitcode is not None for process in _workers(pool)):
            if not over.wait(GRACE_SECONDS):
                _end_pool(pool)
            return


def _end_pool(pool: ProcessPoolExecutor) -> None:
    """Kill what is left of a pool, so that it notices; one that has done so has nothing left."""
    for process in _workers(pool):
        process.kill()
        process.join()
    answers: Any = pool._result_queue  # noqa: SLF001  # nothing else closes it
    answers._writer.close()  # noqa: SLF001  # nor that


def _workers(pool: ProcessPoolExecutor) -> list[BaseProcess]:
    """Return the processes of a pool, none once it is shut down."""
    return list((pool._processes or {}).values())  # noqa: SLF001  # nothing else tells of them
