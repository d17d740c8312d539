"""The log: one line an event, text for people or JSON for machines, and no secret in either.

What libraries log and warn of becomes lines of the same kind. Of passes the daemon logs news only,
and one line a pass with the essentials.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import TextIO

import structlog

from reconciler.core.message import decision_line, is_told
from reconciler.dialects.object_pass import trace_of
from reconciler.model.moments import format_moment
from reconciler.model.text import LONGEST_MESSAGE_BYTES, cut, short_id
from reconciler.model.world import Fault, Trace
from reconciler.shell.daemon.events import DaemonEvent, PassFailed, PassFinished
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.command import mask_of
from reconciler.shell.passes.pass_report import Contested, PassSummary
from reconciler.shell.passes.trust import RefusedCommit


class _OfLibraries(logging.Handler):
    """Takes what libraries log, from warnings on."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record, of an exception where it came from."""
        try:
            said = record.getMessage()
        except (TypeError, ValueError):  # it and its values do not fit
            said = str(record.msg)
        log = structlog.get_logger()
        tell = log.error if record.levelno >= logging.ERROR else log.warning
        error = record.exc_info[1] if record.exc_info else None
        more = {"trace": trace_of(error)} if isinstance(error, Exception) else {}
        tell(cut(said, LONGEST_MESSAGE_BYTES), logger=record.name, **more)


_OF_LIBRARIES = _OfLibraries(logging.WARNING)


def configure_log(
    stream: TextIO, *, text: bool, colours: bool, secrets: Collection[str] = ()
) -> None:
    """Set the process's log up.

    Args:
        stream: Where lines go.
        text: Lines for people; else JSON for machines.
        colours: Whether text may have colours.
        secrets: What no line may hold, in none of the forms in which it is written.
    """
    mask = mask_of(secrets)

    def redact(
        _log: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        return {key: _redacted(value, mask) for key, value in event.items()}

    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=colours)
        if text
        else structlog.processors.JSONRenderer()
    )
    form: tuple[structlog.typing.Processor, ...] = (
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        structlog.processors.EventRenamer("msg"),
    )
    if text:
        form = (structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            *form,
            redact,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    logging.getLogger().addHandler(_OF_LIBRARIES)
    logging.captureWarnings(capture=True)


def _redacted(value: object, mask: Callable[[str], str]) -> object:
    """Return a value of an event without secrets, however deep they are in it."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {str(key): _redacted(item, mask) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(item, mask) for item in value]
    return value if value is None or isinstance(value, int | float) else mask(str(value))


MOST_NAMED = 20  # files in one line of the log


class PassLog:
    """Logs passes as they end; it remembers what was told already.

    Args:
        author: Who commits, as commits name it.
    """

    def __init__(self, author: str) -> None:
        self._log = structlog.get_logger()
        self._author = author
        self._known: frozenset[Fault | Trace | str] = frozenset()
        self._waiting: frozenset[str] = frozenset()
        self._kept: frozenset[KeptEdit] = frozenset()
        self._contested: Contested | None = None
        self._traced = ""
        self._refused: frozenset[RefusedCommit] = frozenset()

    def __call__(self, event: DaemonEvent) -> None:
        """Log what an event has to tell."""
        match event:
            case PassFinished():
                self._finished(event)
            case PassFailed():
                self._waiting = frozenset()
                self._failed(event)

    def _finished(self, event: PassFinished) -> None:
        report = event.report
        self._log_news(report)
        if report.commit is not None:
            self._log_decisions(report)
        if report.commit is not None or event.moved:
            self._log_pass(event)
        self._log_impostors(report)
        self._log_beside(report)
        for path in sorted(report.waiting - self._waiting):
            self._log.info("a person is editing it, so what is over stays in it", file=path)
        if report.commit is not None or report.beside:
            self._log_kept(report)
        for mended in report.mended:
            self._log.warning("an index was mended", reason=mended)
        self._log_contested(report.contested)
        self._log_refused(frozenset(report.refused))
        self._waiting = report.waiting
        self._known = frozenset((*report.faults, *report.traces, *report.warnings))

    def _failed(self, event: PassFailed) -> None:
        """Log why a pass failed, with the trace of a mistake of our own, once while it is same."""
        failure = event.failure
        if failure.refused:
            self._log.warning(
                "pass failed, trying again", error=failure.reason, failures=event.failures
            )
            return
        news = {} if failure.trace == self._traced else {"trace": failure.trace}
        self._traced = failure.trace
        self._log.error(
            "pass failed for a mistake of the reconciler itself, trying again",
            error=failure.kind,
            failures=event.failures,
            **news,
        )

    def _log_news(self, report: PassSummary) -> None:
        """Log each trace, fault and warning that the pass before did not have."""
        for trace in report.traces:
            if trace not in self._known:
                self._log.error(
                    trace.fault.message,
                    where=trace.fault.path,
                    object=trace.fault.subject,
                    trace=trace.text,
                )
        for fault in report.faults:
            if fault not in self._known:
                self._log.warning(
                    fault.message,
                    where=f"{fault.path}:{fault.line}:{fault.column}",
                    field=fault.field,
                    expected=fault.expected,
                )
        for warning in report.warnings:
            if warning not in self._known:
                self._log.warning(warning)

    def _log_decisions(self, report: PassSummary) -> None:
        for decision in report.decisions:
            if is_told(decision):
                self._log.info(decision_line(decision))
            if decision.problem:
                self._log.warning(decision.problem, workload=decision.subject)

    def _log_pass(self, event: PassFinished) -> None:
        """Log the line of the pass: what it read, what it wrote, what is wrong, when it goes on."""
        report = event.report
        recheck_at = format_moment(report.recheck_at) if report.recheck_at else None
        if report.commit is None:
            self._log.info(
                "up to date",
                commit=short_id(report.revision),
                faults=len(report.faults),
                seconds=round(event.seconds, 3),
                recheck_at=recheck_at,
            )
            return
        self._log.info(
            "pass committed",
            commit=short_id(report.commit),
            revision=short_id(report.revision),
            changed=report.changed,
            decisions=sum(map(is_told, report.decisions)),
            unschedulable=sum(bool(decision.problem) for decision in report.decisions),
            faults=len(report.faults),
            lost_races=report.races,
            **({"worker": report.worker} if report.worker else {}),
            seconds=round(event.seconds, 3),
            recheck_at=recheck_at,
        )

    def _log_impostors(self, report: PassSummary) -> None:
        """Log the decisions that somebody else edited under the name of the daemon."""
        for key, editor in report.editors:
            if report.commit is not None and editor == self._author:
                self._log.warning(
                    "a decision was edited under the name of the reconciler",
                    object=key,
                    author=editor,
                )

    def _log_beside(self, report: PassSummary) -> None:
        """Log what became of the other branches that are delivered to."""
        for delivered in report.beside:
            if delivered.commit is not None:
                self._log.info(
                    "delivered",
                    branch=delivered.branch,
                    commit=short_id(delivered.commit),
                    changed=delivered.files,
                )
            for fault in delivered.faults:
                self._log.warning(fault.message, branch=delivered.branch, expected=fault.expected)

    def _log_kept(self, report: PassSummary) -> None:
        """Log once each file of a checkout that keeps a person's edit."""
        kept = {*report.kept, *(edit for branch in report.beside for edit in branch.kept)}
        for edit in sorted(kept - self._kept, key=str)[:MOST_NAMED]:
            self._log.warning(
                "a file keeps a person's edit, so it is not as it was decided",
                file=edit.path,
                checkout=str(edit.folder),
                expected=f"commit it, or take what was decided: {edit.command}",
            )
        self._kept = frozenset(kept)

    def _log_refused(self, refused: frozenset[RefusedCommit]) -> None:
        """Log once each commit that is not accepted."""
        for commit in sorted(refused - self._refused):
            self._log.warning(
                f"a commit waits, and all after it: {commit.problem}",
                branch=commit.branch,
                commit=short_id(commit.revision),
                author=commit.author,
                waiting=commit.waiting,
                expected=commit.expected,
            )
        self._refused = refused

    def _log_contested(self, contested: Contested | None) -> None:
        """Log once what others undo again and again, and when it is written again."""
        if contested is not None and contested != self._contested:
            self._log.warning(
                "others undo what passes write again and again, so it waits",
                files=contested.paths[:MOST_NAMED],
                count=len(contested.paths),
                until=format_moment(contested.until),
            )
        self._contested = contested
