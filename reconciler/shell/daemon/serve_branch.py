"""The daemon: a pass whenever the branch moves or a moment comes, until it is told to stop.

A pass whose moment has come goes first: what somebody pushed is fetched and judged after it.
Nothing that is kept here matters: kill it anywhere, the next start goes on. This is the only file
that catches what the outside refused, and unforeseen exceptions: it says so, backs off, and tries
again, at once when the branch moves. So it never ends for what a repository holds.
"""

import random
import time
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol

import structlog

from reconciler.dialects.object_pass import trace_of
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import World
from reconciler.shell.daemon.events import (
    BranchRead,
    DaemonEvent,
    LoopTurned,
    Observer,
    PassBegun,
    PassFailed,
    PassFinished,
)
from reconciler.shell.daemon.log import PassLog
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassSummary, summary_of
from reconciler.shell.passes.turns import PassDropped
from reconciler.shell.processes.limits import limit_met
from reconciler.shell.reading.sources import Heads
from reconciler.version import __version__

FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 60.0
MOST_DOUBLED = 16  # far beyond the longest delay; a power of all failures has no float one day
SHORTEST_SLEEP_SECONDS = 0.05
LEAST_SHARE = 0.9  # of the time between two polls: daemons spread, and none looks too rarely


class WakeupSource(Protocol):
    """What the daemon sleeps on."""

    @property
    def problem(self) -> str:
        """Why there are no events and it only polls, `""` if there are."""

    def wait(self, timeout_seconds: float, /) -> bool:
        """Return when something may have changed or time is up; false says to stop."""


class PassRunner(Protocol):
    """Who computes the passes of a root: this process, or a worker that has its memory."""

    def run(
        self, passes: Passes, waiting: Callable[[], None], /, *, due: bool
    ) -> tuple[PassSummary, Callable[[], World]]:
        """Run a pass, and return what it did and what returns the world that it looked at.

        Args:
            passes: Of the root, as this process reads it.
            waiting: Is called now and then while others compute.
            due: Whether its moment has come; see `Passes.run`.

        Raises:
            FailedElsewhere: It was computed elsewhere, and did not end well.
            PassDropped: The daemon was told to stop, and it has not begun, or waits for its turn.
        """

    def rest(self, passes: Passes, /) -> bool:
        """Do a little of what no pass waits for, and return whether more is left."""


class RunHere:
    """Computes passes in this process."""

    def run(
        self, passes: Passes, _waiting: Callable[[], None], /, *, due: bool
    ) -> tuple[PassSummary, Callable[[], World]]:
        """Run a pass."""
        report = passes.run(due=due)
        return summary_of(report, passes.problems), lambda: report.world

    def rest(self, passes: Passes, /) -> bool:
        """Look after the repository, and keep what was parsed."""
        return passes.rest()


class _Seen(NamedTuple):
    """What the last pass left: the branches, the next moment, the files that wait for a person.

    `feedback_branch` is the one that clusters report on, `""` for none of their own.
    """

    heads: Heads
    feedback_branch: str
    recheck_at: datetime | None
    waiting: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """Runs passes until it is told to stop.

    Attributes:
        passes: How a pass is run.
        wakeups: Wakes it when the branch may have moved.
        poll_seconds: It looks at least this often.
        observers: Who is told what it does, beside the log.
        runner: Who computes the passes.
    """

    passes: Passes
    wakeups: WakeupSource
    poll_seconds: float
    observers: tuple[Observer, ...] = ()
    runner: PassRunner = field(default_factory=RunHere)

    def run(self) -> None:
        """Run until the wakeups say to stop; a pass that has begun is finished."""
        log = structlog.get_logger()
        log.info("serving", branch=self.passes.branch.name, version=__version__)
        if self.wakeups.problem:
            log.warning("no file events, polling", reason=self.wakeups.problem)
        observers: tuple[Observer, ...] = (PassLog(str(self.passes.author)), *self.observers)
        traces: set[str] = set()

        def say(event: DaemonEvent) -> None:
            for observer in observers:
                error = _error_of(observer, event)
                limit, trace = limit_met(error), "" if error is None else trace_of(error)
                if limit is not None:
                    log.warning("what watches the daemon was not told", reason=limit)
                elif trace and trace not in traces:
                    traces.add(trace)
                    log.error("a mistake of the reconciler in what watches it", trace=trace)

        self._serve(say)
        log.info("stopped")

    def _serve(self, say: Observer) -> None:
        """Run passes, saying what happens."""
        passes = replace(self.passes, began=lambda revision: say(PassBegun(revision)))
        failures = 0
        seen: _Seen | None = None
        sleep_seconds = 0.0
        due = False
        while self.wakeups.wait(sleep_seconds):
            try:
                say(LoopTurned())
                # After a pass that was due comes a look, whatever that pass left to be done.
                due = seen is not None and not due and self._has_come(seen.recheck_at)
                if seen is None or due or self._due(seen, say):
                    began = time.monotonic()
                    report, world = self.runner.run(passes, lambda: say(LoopTurned()), due=due)
                    seconds = time.monotonic() - began
                    first, before = seen is None, None if seen is None else seen.heads
                    seen = _Seen(report.left, report.feedback_branch, report.due_at, report.waiting)
                    moved = report.heads != before
                    say(
                        PassFinished(
                            report=report, world=world, seconds=seconds, moved=moved, first=first
                        )
                    )
                failures, rested = 0, not self.runner.rest(passes) and not due
            except PassDropped:
                return
            except Exception as error:  # noqa: BLE001  # the daemon outlives any pass
                failures += 1
                seen = None
                say(PassFailed(error, failures))
                rested = True
            sleep_seconds = self._sleep_seconds(seen, failures) if rested else 0.0

    def _due(self, seen: _Seen, say: Observer) -> bool:
        """Return whether the branch moved, a moment has come, or a person's edit is waited for."""
        self.passes.branch.recover()  # or else what others leave waits for the next commit
        if seen.waiting:
            return True
        heads = self.passes.branches.heads(seen.feedback_branch)
        say(BranchRead(heads.inputs))
        return heads != seen.heads or self._has_come(seen.recheck_at)

    def _has_come(self, moment: datetime | None) -> bool:
        return moment is not None and self.passes.clock.now() >= moment

    def _sleep_seconds(self, seen: _Seen | None, failures: int) -> float:
        if failures:
            doubled = min(failures - 1, MOST_DOUBLED)
            delay: float = min(FIRST_DELAY_SECONDS * 2**doubled, LONGEST_DELAY_SECONDS)
            return random.uniform(0.5, 1.0) * delay  # noqa: S311  # only spreads the retries
        poll = random.uniform(LEAST_SHARE, 1.0) * self.poll_seconds  # noqa: S311  # spreads polls
        recheck_at = seen.recheck_at if seen is not None else None
        if recheck_at is None:
            return poll
        left = (recheck_at - self.passes.clock.now()).total_seconds()
        return min(poll, max(left, SHORTEST_SLEEP_SECONDS))


def _error_of(observer: Observer, event: DaemonEvent) -> Exception | None:
    """Call an observer; return what stopped it, `None` if nothing did. It fails no pass."""
    try:
        observer(event)
    except Exception as error:  # noqa: BLE001  # whatever it is
        return error
    return None
