"""Whether the daemon lives and is ready, told from what it says of itself.

Alive is a loop that turns. Ready is a daemon that could read its branch lately and whose last pass
ended well; what makes it unready is a sentence for whoever is called.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from reconciler.shell.daemon.events import (
    BranchRead,
    DaemonEvent,
    LoopTurned,
    PassBegun,
    PassFailed,
    PassFinished,
)

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
