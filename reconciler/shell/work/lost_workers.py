"""Ends a pool of processes of which one was killed while it was sending an answer.

Of half a message the pool would wait for the rest for ever, as the other workers could still write
into the same pipe. With all of them gone, and our end of it closed, it sees that none comes.
"""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any

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
        if any(one.exitcode is not None for one in _workers(pool)):
            if not over.wait(GRACE_SECONDS):
                _end(pool)
            return


def _end(pool: ProcessPoolExecutor) -> None:
    """Kill what is left of a pool, so that it notices; one that has done so has nothing left."""
    for process in _workers(pool):
        process.kill()
        process.join()
    answers: Any = pool._result_queue  # noqa: SLF001  # nothing else closes it
    answers._writer.close()  # noqa: SLF001  # nor that


def _workers(pool: ProcessPoolExecutor) -> list[BaseProcess]:
    """Return the processes of a pool, none once it is shut down."""
    return list((pool._processes or {}).values())  # noqa: SLF001  # nothing else tells of them
