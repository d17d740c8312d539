"""The daemon: a pass whenever the branch moves or a moment comes, until it is told to stop.

It keeps nothing that matters: kill it anywhere, the next start goes on. This is the only file that
catches what the outside refused, and unforeseen exceptions: it says so, backs off, and tries again,
at once when the branch moves. So it never ends for what a repository holds.
"""

import random
from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

import structlog

from reconciler import __version__
from reconciler.core.changes import Outcome
from reconciler.core.message import decision_line, is_told
from reconciler.dialects.object_boundary import trace_of
from reconciler.errors import ShellError, UsageError
from reconciler.model.moments import format_moment
from reconciler.model.settings import settings_in
from reconciler.model.world import Fault, Trace
from reconciler.shell.disk import refusal_of
from reconciler.shell.passes import Passes, PassReport
from reconciler.shell.sources import Heads

FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 60.0
SHORTEST_SLEEP_SECONDS = 0.05


class WakeupSource(Protocol):
    """What the daemon sleeps on."""

    @property
    def problem(self) -> str:
        """Why there are no events and it only polls, `""` if there are."""

    def wait(self, timeout_seconds: float, /) -> bool:
        """Return when something may have changed or time is up; false says to stop."""


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
    """

    passes: Passes
    wakeups: WakeupSource
    poll_seconds: float

    def run(self) -> None:
        """Run until the wakeups say to stop; a pass that has begun is finished."""
        log = structlog.get_logger()
        log.info("serving", branch=self.passes.branch.name, version=__version__)
        if self.wakeups.problem:
            log.warning("no file events, polling", reason=self.wakeups.problem)
        failures = 0
        seen: _Seen | None = None
        known: frozenset[Fault | Trace | str] = frozenset()
        traced = ""
        sleep_seconds = 0.0
        while self.wakeups.wait(sleep_seconds):
            try:
                if seen is None or self._due(seen):
                    report = self.passes.run()
                    _log_pass(log, report, known=known)
                    _log_impostors(log, report, str(self.passes.author))
                    _log_beside(log, report)
                    if seen is None or seen.heads != report.heads:
                        _log_up_to_date(log, report)
                    _log_waiting(
                        log, report.waiting - (frozenset() if seen is None else seen.waiting)
                    )
                    seen = _Seen(
                        report.left,
                        settings_in(report.world).feedback_branch,
                        report.outcome.recheck_at,
                        report.waiting,
                    )
                    outcome = report.outcome
                    known = frozenset((*outcome.faults, *outcome.traces, *outcome.warnings))
                failures, rested = 0, not self.passes.rest()
            except Exception as error:  # noqa: BLE001  # the daemon outlives any pass
                failures += 1
                seen = None
                traced = _log_failure(log, error, failures, traced=traced)
                rested = True
            sleep_seconds = self._sleep_seconds(seen, failures) if rested else 0.0
        log.info("stopped")

    def _due(self, seen: _Seen) -> bool:
        """Return whether the branch moved, a moment has come, or a person's edit is waited for."""
        self.passes.branch.recover()  # or else what others leave waits for the next commit
        if seen.waiting or self.passes.branches.heads(seen.feedback_branch) != seen.heads:
            return True
        return seen.recheck_at is not None and self.passes.clock.now() >= seen.recheck_at

    def _sleep_seconds(self, seen: _Seen | None, failures: int) -> float:
        """Return how long to sleep at most."""
        if failures:
            delay: float = min(FIRST_DELAY_SECONDS * 2 ** (failures - 1), LONGEST_DELAY_SECONDS)
            return random.uniform(0.5, 1.0) * delay  # noqa: S311  # only spreads the retries
        recheck_at = seen.recheck_at if seen is not None else None
        if recheck_at is None:
            return self.poll_seconds
        left = (recheck_at - self.passes.clock.now()).total_seconds()
        return min(self.poll_seconds, max(left, SHORTEST_SLEEP_SECONDS))


def _log_failure(
    log: structlog.typing.BindableLogger, error: Exception, failures: int, *, traced: str
) -> str:
    """Log why a pass failed, with the trace of a mistake of our own, once while it is the same.

    Returns:
        The trace that was logged last.
    """
    if isinstance(error, ShellError | UsageError | OSError):
        told = refusal_of(error) if isinstance(error, OSError) else str(error)
        log.warning("pass failed, trying again", error=told, failures=failures)  # type: ignore[attr-defined]
        return traced
    trace = trace_of(error)
    news = {} if trace == traced else {"trace": trace}
    log.error(  # type: ignore[attr-defined]
        "pass failed for a mistake of the reconciler itself, trying again",
        error=type(error).__name__,
        failures=failures,
        **news,
    )
    return trace


def _log_pass(
    log: structlog.typing.BindableLogger,
    report: PassReport,
    *,
    known: Container[Fault | Trace | str],
) -> None:
    """Log one pass: a line for it, one a decision, and what is new to be looked at."""
    outcome = report.outcome
    _log_news(log, outcome, known)
    if report.commit is None:
        return
    for decision in outcome.decisions:
        if is_told(decision):
            log.info(decision_line(decision))  # type: ignore[attr-defined]
        if decision.problem:
            log.warning(decision.problem, workload=decision.subject)  # type: ignore[attr-defined]
    log.info(  # type: ignore[attr-defined]
        "pass committed",
        commit=report.commit[:12],
        changed=len(outcome.files),
        faults=len(outcome.faults),
        lost_races=report.races,
        recheck_at=format_moment(outcome.recheck_at) if outcome.recheck_at else None,
    )


def _log_news(
    log: structlog.typing.BindableLogger, outcome: Outcome, known: Container[Fault | Trace | str]
) -> None:
    """Log each trace, fault and warning that the pass before did not have."""
    for trace in outcome.traces:
        if trace not in known:
            log.error(  # type: ignore[attr-defined]
                trace.fault.message,
                where=trace.fault.path,
                object=trace.fault.subject,
                trace=trace.text,
            )
    for fault in outcome.faults:
        if fault not in known:
            log.warning(  # type: ignore[attr-defined]
                fault.message,
                where=f"{fault.path}:{fault.line}:{fault.column}",
                field=fault.field,
                expected=fault.expected,
            )
    for warning in outcome.warnings:
        if warning not in known:
            log.warning(warning)  # type: ignore[attr-defined]


def _log_impostors(log: structlog.typing.BindableLogger, report: PassReport, author: str) -> None:
    """Log the decisions that somebody else edited under the name of the daemon."""
    for key, editor in report.editors:
        if report.commit is not None and editor == author:
            log.warning(  # type: ignore[attr-defined]
                "a decision was edited under the name of the reconciler", object=key, author=editor
            )


def _log_beside(log: structlog.typing.BindableLogger, report: PassReport) -> None:
    """Log what became of the other branches that are delivered to."""
    for one in report.beside:
        if one.commit is not None:
            log.info(  # type: ignore[attr-defined]
                "delivered", branch=one.branch, commit=one.commit[:12], changed=one.files
            )
        for fault in one.faults:
            log.warning(  # type: ignore[attr-defined]
                fault.message, branch=one.branch, expected=fault.expected
            )


def _log_up_to_date(log: structlog.typing.BindableLogger, report: PassReport) -> None:
    """Log that a commit asks for nothing, if it does."""
    if report.commit is not None:
        return
    recheck_at = report.outcome.recheck_at
    log.info(  # type: ignore[attr-defined]
        "up to date",
        commit=report.world.revision[:12],
        faults=len(report.outcome.faults),
        recheck_at=format_moment(recheck_at) if recheck_at else None,
    )


def _log_waiting(log: structlog.typing.BindableLogger, files: Iterable[str]) -> None:
    """Log the files of which something would go, but for a person's edit."""
    for path in sorted(files):
        log.info("a person is editing it, so what is over stays in it", file=path)  # type: ignore[attr-defined]
