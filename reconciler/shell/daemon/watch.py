"""Says when it is worth looking at a repository again.

An event is only a hint: the caller compares what the branch points to. File events miss network
file systems and overflow, so a poll backs them up.
"""

import contextlib
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self

from watchfiles._rust_notify import RustNotify  # bounded in pyproject.toml: no part of its promise

from reconciler.shell.processes.held_signals import LONGEST_UNANSWERED_SECONDS

THREADS = 2  # of a watched folder: the library's and ours
DEBOUNCE_MS = 50
STEP_MS = 10  # sets the latency, and how fast a stop is noticed
POLL_SECONDS = 5.0

FILES_OF_INTEREST = ("HEAD", "packed-refs", "refs", "reftable")


class _Stopped:
    """Whether a stop was requested; the watching library asks it as an event."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked = False

    def is_set(self) -> bool:
        """Answer the library."""
        return self.asked


class Wakeups:
    """Waits until a branch of a repository may have moved.

    Use as a context manager; watching has begun when the block is entered, so a change after that
    is never missed.

    Args:
        common_dir: Folder that holds the references, `Repository.common_dir`; `None` watches
            nothing and only polls, as for a remote.
        poll_seconds: Longest time between two looks without an event.
    """

    def __init__(self, common_dir: Path | None, *, poll_seconds: float = POLL_SECONDS) -> None:
        self.poll_seconds = poll_seconds
        self.problem = ""
        """Why file events are not used, `""` if they are; the poll works all the same."""
        self._common_dir = common_dir
        self._bell = SimpleQueue[None]()
        self._stopped = _Stopped()
        self._threads: list[threading.Thread] = []

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for an event, the poll, the timeout or a stop, whichever is first.

        Args:
            timeout_seconds: Longest wait; `None` leaves it to the poll.

        Returns:
            True to go on and look, false once a stop was requested.
        """
        if self._stopped.is_set():
            return False
        limit = self.poll_seconds
        if timeout_seconds is not None:
            limit = min(limit, max(0.0, timeout_seconds))
        end = time.monotonic() + limit
        left = limit
        while not self._rings(min(left, LONGEST_UNANSWERED_SECONDS)):
            left = end - time.monotonic()
            if left <= 0 or self._stopped.is_set():
                break
        return not self._stopped.is_set()

    def _rings(self, seconds: float) -> bool:
        """Return whether the bell rings within so long; what rang until now is one ring.

        It is seen by the look that follows.
        """
        rang = False
        with contextlib.suppress(Empty):
            self._bell.get(timeout=seconds)
            rang = True
            while True:
                self._bell.get_nowait()
        return rang

    def wake(self) -> None:
        """End the present wait, or the next; a webhook does so. Safe in any thread."""
        self._bell.put(None)

    def stop(self) -> None:
        """End this wait and all that follow. Safe in any thread and in a signal handler.

        So no lock is taken that the interrupted thread may hold: an event of `threading` has one.
        """
        self._stopped.asked = True
        self._bell.put(None)

    @property
    def stopped(self) -> bool:
        """Whether a stop was requested."""
        return self._stopped.is_set()

    def __enter__(self) -> Self:
        if self._common_dir is not None:
            self._watch(self._common_dir, recursive=False)
            self._watch(self._common_dir / "refs", recursive=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for thread in self._threads:
            thread.join()

    def _watch(self, folder: Path, *, recursive: bool) -> None:
        _start_threads(THREADS)  # or else the library, which is no Python, aborts the process
        try:
            # Not `watchfiles.watch`: that begins to watch at its first turn, in another thread.
            notify = RustNotify(
                [str(folder)],
                debug=False,
                force_polling=False,
                poll_delay_ms=0,
                recursive=recursive,
                ignore_permission_denied=False,
            )
        except (OSError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or "the system refuses"
            self.problem = f"{folder} cannot be watched: {why}"
            return
        inner = None if recursive else folder
        thread = threading.Thread(target=self._listen, args=(notify, inner), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _listen(self, notify: RustNotify, top: Path | None) -> None:
        """Ring the bell for each batch of events that may mean a moved branch."""
        with notify:
            while True:
                batch = notify.watch(DEBOUNCE_MS, STEP_MS, 0, self._stopped)
                if isinstance(batch, str):
                    return
                if any(_matters(Path(path), top) for _, path in batch):
                    self.wake()


def _start_threads(count: int) -> None:
    """Start so many threads at a time, and end them.

    Raises:
        RuntimeError: The machine grants no more.
    """
    release = threading.Event()
    threads = [threading.Thread(target=release.wait, daemon=True) for _ in range(count)]
    try:
        for thread in threads:
            thread.start()
    finally:
        release.set()
        for thread in filter(threading.Thread.is_alive, threads):
            thread.join()


def _matters(path: Path, top: Path | None) -> bool:
    """True unless the file is a lock, or one of the many others beside the references."""
    if path.suffix == ".lock":
        return False
    return top is None or path.name in FILES_OF_INTEREST
