"""Waits until it is worth looking at a repository again, for several roots in one process.

An event is only a hint: the caller compares what the branch points to. File events miss network
file systems and overflow, so a poll backs them up.

Each root has a daemon in a thread of its own, with its own loader, memory, passes and back-off, so
what is broken or slow in one delays no other. They share the checkout or the mirror, whose moves
wait for each other. Two more things are watched: whether a branch has other roots than those that
are served, and the settings file of the operator, by content, since a mounted file is swapped as a
link.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self

import structlog
from watchfiles._rust_notify import RustNotify  # bounded in pyproject.toml: no part of its promise

from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.records import dataclass
from reconciler.shell.daemon.events import BranchRead, DaemonEvent, DaemonHealth
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.processes.signals import LONGEST_UNANSWERED_SECONDS, Background

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRoot:
    """A root that is served.

    Attributes:
        name: Its folder as the operator named it, `""` if it is the only one and was not named.
        passes: How its passes are run.
        wakeups: What its daemon sleeps on.
        health: Whether its daemon lives and is ready.
        worker: Returns who has its memory now, `""` for this process or nobody.
    """

    name: str
    passes: Passes
    wakeups: Wakeups
    health: DaemonHealth
    worker: Callable[[], str] = lambda: ""


def run_beside(daemons: Mapping[str, Daemon]) -> None:
    """Run daemons beside each other until their wakeups say to stop.

    Args:
        daemons: By the name of the root, which all that is logged of it carries. One alone runs in
            this thread.
    """
    if len(daemons) == 1:
        for root, daemon in daemons.items():
            _run(root, daemon)
        return
    threads = [
        threading.Thread(target=_run, args=(root, daemon), name=f"root {root}")
        for root, daemon in daemons.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(LONGEST_UNANSWERED_SECONDS)


def _run(root: str, daemon: Daemon) -> None:
    if root:
        structlog.contextvars.bind_contextvars(root=root)
    daemon.run()


class JointHealth:
    """The health of several daemons: well if all are, else what ails which.

    Args:
        roots: Whose daemons.
        warnings: Returns what is wrong though they are ready, a sentence each.
    """

    def __init__(
        self, roots: Sequence[ServedRoot], warnings: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self._roots = roots
        self.warnings = warnings

    def not_alive(self) -> str:
        """Return why a loop counts as stuck, `""` if all turn."""
        return self._ailing(DaemonHealth.not_alive)

    def not_ready(self) -> str:
        """Return why nobody should rely on all of them, `""` if all are ready."""
        return self._ailing(DaemonHealth.not_ready)

    def _ailing(self, question: Callable[[DaemonHealth], str]) -> str:
        answers = [(root.name, question(root.health)) for root in self._roots]
        return "; ".join(f"{name}: {why}" if name else why for name, why in answers if why)


class RootsWatch:
    """Looks at each commit that a daemon reads; observe the daemons of all roots with it.

    Where the branch has no root at all, those that are served stay: somebody will bring them back.

    Args:
        served: The roots that are served.
        find: Returns the roots at a commit, by its full hex id.
        changed: Called once when they are others.
    """

    def __init__(
        self,
        served: Collection[str],
        find: Callable[[str], Collection[str]],
        changed: Callable[[], None],
    ) -> None:
        self._served = frozenset(served)
        self._find = find
        self._changed = changed
        self._seen = ""
        self._turn = threading.Lock()
        self.reload = False
        """Whether they are."""

    def __call__(self, event: DaemonEvent) -> None:
        """Look at the commit that was read, if it is new."""
        if not isinstance(event, BranchRead):
            return
        with self._turn, suppress(ReconcilerError):  # what cannot be read is told by the pass
            if self.reload or event.revision == self._seen:
                return
            roots = frozenset(self._find(event.revision))
            self._seen = event.revision
            if roots and roots != self._served:
                self.reload = True
                self._changed()


LOOK_SECONDS = 1.0


class SettingsWatch(Background):
    """Looks at a file while a block lasts, and says once when it holds other settings.

    Args:
        file: The settings.
        problem: Why what it holds now is not what counts, `""` if it is.
        check: Raises `UsageError` if what the file holds now are no settings.
        changed: Called in a thread when the file holds other settings that are good.
        look_seconds: How often it looks.
    """

    def __init__(
        self,
        file: Path,
        *,
        problem: str = "",
        check: Callable[[], object],
        changed: Callable[[], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        super().__init__("settings")
        self._file = file
        self._check = check
        self._changed = changed
        self._look_seconds = look_seconds
        self._seen = content_of(file)
        self._stopped = threading.Event()
        self.reload = False
        """Whether it said so."""
        self.problem = problem
        """Why the last good settings count instead of the file, `""` if the file counts."""

    def _end(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        while not self.reload and not self._stopped.wait(self._look_seconds):
            content = content_of(self._file)
            if content == self._seen:
                continue
            self._seen = content
            try:
                self._check()
            except UsageError as error:
                self.problem = str(error)
                refused(self.problem)
            else:
                self.reload = True
                self._changed()


def refused(error: str) -> None:
    """Log that settings are not taken over."""
    structlog.get_logger().error("settings refused, the last good ones stay", error=error)


def content_of(file: Path) -> bytes:
    """Return what a file holds; nothing if it cannot be read, which is told when it is parsed."""
    try:
        return file.read_bytes()
    except OSError:
        return b""
