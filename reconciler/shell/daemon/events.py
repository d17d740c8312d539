"""What the daemon says of itself while it runs, for whoever watches it.

Each event is a frozen value. An observer is called in the daemon's own thread, so it only takes
note: it never waits, and it hands to other threads nothing but values that do not change.

Health follows from these events. Alive is a loop that turns. Ready is a daemon that could read its
branch lately and whose last pass ended well; what makes it unready is a sentence for whoever is
called.

This is the only file that talks to systemd: ready, how it goes, a sign of life, and stopping. The
watchdog is fed by a thread, and only while the loop of the daemon turns: a pass may take longer
than any watchdog should wait, and a loop that is stuck must still be noticed.

Source: sd_notify(3); a datagram to the socket that `NOTIFY_SOCKET` names.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Sequence

from reconciler.dialects.object_pass import trace_of
from reconciler.errors import ShellError, UsageError
from reconciler.model.records import dataclass, replace
from reconciler.model.text import printable, short_id
from reconciler.model.world import World
from reconciler.shell.passes.pass_report import PassSummary
from reconciler.shell.processes.limits import limit_met, refusal_of
from reconciler.shell.processes.signals import Background


@dataclass(frozen=True, slots=True)
class LoopTurned:
    """The daemon woke up; it does so at each event, each moment and each poll."""


@dataclass(frozen=True, slots=True)
class BranchRead:
    """The branch could be read. `revision` is its commit, full hex."""

    revision: str


@dataclass(frozen=True, slots=True)
class PassBegun:
    """A pass looks at a commit. `revision` is its full hex id."""

    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFinished:
    """A pass ended well.

    `seconds` are what it took. `moved` is whether a branch was elsewhere after the pass before, and
    `first` whether the daemon knows of none. `world` returns the world that it looked at.
    """

    report: PassSummary
    world: Callable[[], World]
    seconds: float
    moved: bool
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFailure:
    """Why a pass did not end well, in words that can be sent.

    Attributes:
        refused: Whether the outside or the machine refused; else it is a mistake of our own.
        reason: Why; of a mistake of our own only its class.
        kind: The class of the exception.
        trace: Where a mistake of our own came from, `""` of a refusal.
    """

    refused: bool
    reason: str
    kind: str
    trace: str = ""


class FailedElsewhere(Exception):
    """A pass that another process computed did not end well."""

    def __init__(self, failure: PassFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def failure_of(error: Exception) -> PassFailure:
    """Return why a pass did not end well, the same wherever it was computed."""
    if isinstance(error, FailedElsewhere):
        return error.failure
    kind, limit = type(error).__name__, limit_met(error)
    if isinstance(error, OSError):
        return PassFailure(refused=True, reason=refusal_of(error), kind=kind)
    if limit is not None or isinstance(error, ShellError | UsageError):
        return PassFailure(refused=True, reason=limit or str(error), kind=kind)
    says = f"a mistake of the reconciler itself ({kind}), see the log"
    return PassFailure(refused=False, reason=says, kind=kind, trace=trace_of(error))


@dataclass(frozen=True, slots=True)
class PassFailed:
    """The branch could not be read, or a pass did not end well, `failures` times in a row."""

    error: Exception
    failures: int

    @property
    def failure(self) -> PassFailure:
        """Why."""
        return failure_of(self.error)

    @property
    def reason(self) -> str:
        """Why, in words; of a mistake of our own only its class."""
        return self.failure.reason


DaemonEvent = LoopTurned | BranchRead | PassBegun | PassFinished | PassFailed
Observer = Callable[[DaemonEvent], None]


MISSED_POLLS = 3  # as in Flux and Argo CD, one or two are nothing to wake a person for
SHORTEST_LIMIT_SECONDS = 30.0  # a checkout is looked at each five seconds, and a pass may take ten
LONGEST_TURN_SECONDS = 900.0  # ours: git has two minutes a command, a cold start minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthState:
    """What is known at one moment; replaced as a whole, so that any thread may read it.

    Attributes:
        turned_at: When the loop turned last, by the stopwatch.
        read_at: When the branch was read last, `None` if never.
        finished: Whether a pass has ended well since the start.
        failure: Why the last turn failed, `""` if it did not.
        failures: How many turns failed in a row.
    """

    turned_at: float
    read_at: float | None = None
    finished: bool = False
    failure: str = ""
    failures: int = 0


class DaemonHealth:
    """Follows the daemon; asked by other threads.

    Args:
        poll_seconds: The daemon looks at its branch at least this often.
        stopwatch: Seconds since some moment.
    """

    def __init__(
        self, *, poll_seconds: float, stopwatch: Callable[[], float] = time.monotonic
    ) -> None:
        self._stopwatch = stopwatch
        self._silent_seconds = max(MISSED_POLLS * poll_seconds, SHORTEST_LIMIT_SECONDS)
        self._turn_seconds = LONGEST_TURN_SECONDS + poll_seconds
        self.state = HealthState(turned_at=stopwatch())

    def __call__(self, event: DaemonEvent) -> None:
        """Take note of what the daemon says."""
        now = self._stopwatch()
        match event:
            case LoopTurned():
                self.state = replace(self.state, turned_at=now)
            case BranchRead() | PassBegun():
                self.state = replace(self.state, turned_at=now, read_at=now)
            case PassFinished():
                self.state = HealthState(turned_at=now, read_at=now, finished=True)
            case PassFailed():
                self.state = replace(self.state, failure=event.reason, failures=event.failures)

    def not_alive(self) -> str:
        """Return why the loop counts as stuck, `""` if it turns."""
        silent = self._stopwatch() - self.state.turned_at
        if silent <= self._turn_seconds:
            return ""
        return f"the loop has not turned for {silent:.0f} seconds; restart the daemon"

    def not_ready(self) -> str:
        """Return why nobody should rely on the daemon now, `""` if it is ready."""
        state = self.state
        if state.failure:
            times = f"{state.failures} times in a row" if state.failures > 1 else "once"
            return f"the last pass failed, {times}: {state.failure}"
        if not state.finished or state.read_at is None:
            return "no pass has ended yet since the start"
        silent = self._stopwatch() - state.read_at
        if silent > self._silent_seconds:
            return (
                f"the branch was read {silent:.0f} seconds ago, "
                f"it must be read each {self._silent_seconds:.0f}"
            )
        return self.not_alive()

    def warnings(self) -> Sequence[str]:
        """Return what is wrong though it is ready: nothing that a daemon alone would know of."""
        return ()


LONGEST_STATUS = 200  # what systemctl status shows on a line


class ServiceManager(Background):
    """Tells the service manager what the daemon does, from its start to its end.

    Args:
        address: Path of a socket; one that begins with @ is abstract.
        watchdog_seconds: A sign of life must come so often, `None` for never.
        not_alive: Why the daemon counts as stuck, `""` if it does not.
        mask: Takes credentials out of a text.
    """

    def __init__(
        self,
        address: str,
        *,
        watchdog_seconds: float | None,
        not_alive: Callable[[], str],
        mask: Callable[[str], str],
    ) -> None:
        super().__init__("watchdog")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog_seconds = watchdog_seconds
        self._not_alive = not_alive
        self._mask = mask
        self._ready = False
        self._stopped = threading.Event()

    def __call__(self, event: DaemonEvent) -> None:
        """Tell what an event means for the service."""
        match event:
            case LoopTurned() if not self._ready:
                self._ready = True
                self._send("READY=1")
            case PassFinished():
                head = short_id(event.report.commit or event.report.heads.inputs)
                faults = len(event.report.faults)
                self._say(f"decided at {head}, {faults} fault{'' if faults == 1 else 's'}")
            case PassFailed():
                self._say(f"the last pass failed: {self._mask(event.reason)}")

    def _end(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._send("STOPPING=1")

    def _work(self) -> None:
        """Send signs of life, twice as often as they are wanted."""
        if self._watchdog_seconds is None:
            return
        while not self._stopped.wait(self._watchdog_seconds / 2):
            if not self._not_alive():
                self._send("WATCHDOG=1")

    def _say(self, status: str) -> None:
        self._send(f"STATUS={printable(status)[:LONGEST_STATUS]}")

    def _send(self, message: str) -> None:
        """Send one message; a manager that does not listen changes nothing here."""
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as datagram,
        ):
            datagram.sendto(message.encode(), self._address)
