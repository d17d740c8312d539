"""Reports of the daemon to others: events to a webhook of ours, statuses of commits to a forge.

A webhook gets what was decided and what is wrong, in one signed document a pass. The envelope has
the fields of the events that Flux's notification-controller sends: severity, timestamp, message,
reason, reportingController, metadata. The signature is its generic-hmac.

A forge gets how each commit stands: pending while a pass looks at it, then what came of it. A
commit is what people pushed: it fails if they must edit something. Decisions are linked.

Source: notification-controller docs/spec/v1beta3/providers.md, generic and generic-hmac.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from reconciler.audit.findings import Severity
from reconciler.audit.fleet.problems import Problem, ProblemKind
from reconciler.audit.json_shapes import fault_json, object_json, placed_json
from reconciler.core.message import is_told
from reconciler.model.decision import Decision
from reconciler.model.moments import format_moment
from reconciler.model.text import printable, short_id
from reconciler.model.world import Fault
from reconciler.shell.daemon.events import DaemonEvent, PassBegun, PassFailed, PassFinished
from reconciler.shell.git.command import masked
from reconciler.shell.passes.pass_report import PassSummary
from reconciler.shell.reports.forges import CommitStatus, StatusState
from reconciler.shell.reports.outbox import OutgoingRequest
from reconciler.shell.resources import Clock

MOST_LISTED = 500  # decisions, and faults; their number is told, too


class EventReporter:
    """Makes documents of what passes decide, and of what is newly wrong.

    Args:
        url: Who gets them.
        secret: Returns what both sides know by then.
        branch: The branch that is served.
        root: The folder that is served, `""` if it is the only one.
        clock: For failures, which have no moment of a pass.
        post: Takes a request; it must not wait.
        mask: Takes credentials out of a text.
    """

    def __init__(
        self,
        *,
        url: str,
        secret: Callable[[], str],
        branch: str,
        root: str = "",
        clock: Clock,
        post: Callable[[OutgoingRequest], None],
        mask: Callable[[str], str] = masked,
    ) -> None:
        self._mask = mask
        self._url = url
        self._secret = secret
        self._place = {"branch": branch, "root": root} if root else {"branch": branch}
        self._clock = clock
        self._post = post
        self._faults: frozenset[Fault] = frozenset()
        self._problems: Mapping[ProblemKind, int] = {}
        self._failed = False

    def __call__(self, event: DaemonEvent) -> None:
        """Send what an event tells that was not told before."""
        match event:
            case PassFinished():
                self._finished(event.report)
            case PassFailed() if not self._failed:
                self._failed = True
                self._send(
                    "PassFailed", "error", self._mask(event.reason), self._clock.now(), {}, {}
                )

    def _finished(self, report: PassSummary) -> None:
        faults = frozenset(report.faults)
        problems = {kind: count for kind, count in report.problems.items() if count}
        decided = [one for one in report.decisions if is_told(one) or one.problem]
        news = report.commit is not None and bool(decided)
        if reason := self._reason(faults, problems, news=news):
            metadata = {"revision": report.heads.inputs}
            if report.commit is not None:
                metadata["commit"] = report.commit
            lists = {
                "decisions": [_decision(one) for one in decided[:MOST_LISTED]] if news else [],
                "faults": [fault_json(fault) for fault in report.faults[:MOST_LISTED]],
                "problems": {kind.value: count for kind, count in problems.items()},
            }
            count = len(decided) if news else 0
            says = f"{_counted(count, 'decision')}, {_counted(len(faults), 'fault')}"
            others = [Problem(kind, count) for kind, count in problems.items()]
            wrong = _wrong_text(one for one in others if one.kind is not ProblemKind.FAULT)
            is_error = faults or any(one.severity == Severity.ERROR for one in others)
            severity = "error" if is_error else "info"
            self._send(reason, severity, f"{says}{wrong}", report.now, metadata, lists)
        self._faults, self._problems, self._failed = faults, problems, False

    def _reason(
        self, faults: frozenset[Fault], problems: Mapping[ProblemKind, int], *, news: bool
    ) -> str:
        """Return what is newly told, `""` for nothing."""
        if news:
            return "DecisionsCommitted"
        if faults != self._faults:
            return "FaultsChanged"
        if problems != self._problems:
            return "ProblemsChanged"
        return "PassRecovered" if self._failed else ""

    def _send(
        self,
        reason: str,
        severity: str,
        message: str,
        at: datetime,
        metadata: Mapping[str, str],
        lists: Mapping[str, object],
    ) -> None:
        """Send a document; its id is the same whenever the same is told of the same commit."""
        news = {
            "severity": severity,
            "reason": reason,
            "message": message,
            "reportingController": "reconciler",
            "metadata": {**self._place, **metadata},
            **lists,
        }
        name = hashlib.sha256(json.dumps(news, sort_keys=True).encode()).hexdigest()[:32]
        if not metadata:  # a failure is of a moment, not of a commit
            name = hashlib.sha256(f"{name} {format_moment(at)}".encode()).hexdigest()[:32]
        body = json.dumps({"id": name, "timestamp": format_moment(at), **news}).encode()
        headers = {"Content-Type": "application/json", "X-Reconciler-Delivery": name}

        def signed() -> Mapping[str, str]:
            digest = hmac.new(self._secret().encode(), body, "sha256").hexdigest()
            return {"X-Signature": f"sha256={digest}"}

        self._post(
            OutgoingRequest(url=self._url, headers=headers, body=body, key=name, signed=signed)
        )


def _decision(decision: Decision) -> dict[str, object]:
    return {
        "object": object_json(decision.key),
        "subject": decision.subject,
        "cause": str(decision.cause),
        "before": placed_json(decision.before),
        "after": placed_json(decision.after),
        "problem": decision.problem,
    }


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


class StatusReporter:
    """Posts what changed since it was said last, and nothing twice.

    Args:
        post: Takes a status; it must not wait.
        mask: Takes credentials out of a text.
    """

    def __init__(
        self, post: Callable[[CommitStatus], None], mask: Callable[[str], str] = masked
    ) -> None:
        self._post = post
        self._mask = mask
        self._said: CommitStatus | None = None
        self._looked_at = ""
        self._own = ""

    def __call__(self, event: DaemonEvent) -> None:
        """Say what an event means for the commit that is looked at."""
        match event:
            case PassBegun():
                self._looked_at = event.revision
                was_said = self._said is not None and self._said.revision == event.revision
                if not was_said and event.revision != self._own:
                    self._say(StatusState.PENDING, "deciding where everything runs")
            case PassFinished():
                self._looked_at = event.report.heads.inputs
                self._own = event.report.commit or self._own
                state, description = _verdict(event.report)
                self._say(state, description, decision=event.report.commit)
                self._looked_at = ""
            case PassFailed() if self._looked_at:
                self._say(StatusState.ERROR, f"trying again: {event.reason}")
                self._looked_at = ""

    def _say(self, state: StatusState, description: str, *, decision: str | None = None) -> None:
        status = CommitStatus(
            revision=self._looked_at,
            state=state,
            description=printable(self._mask(description)),
            decision=decision,
        )
        if status != self._said:
            self._said = status
            self._post(status)


def _verdict(report: PassSummary) -> tuple[StatusState, str]:
    """Return how a commit stands after a pass, and why in a line."""
    if report.faults:
        first = report.faults[0]
        many = f"{len(report.faults)} faults, the first: " if len(report.faults) > 1 else ""
        return StatusState.FAILURE, f"{many}{first.path}:{first.line}: {first.message}"
    wrong = _wrong_text(Problem(kind, count) for kind, count in report.problems.items() if count)
    if report.commit is None:
        return StatusState.SUCCESS, f"nothing to decide{wrong}"
    count = sum(map(is_told, report.decisions))
    return StatusState.SUCCESS, f"{_counted(count, 'decision')} in {short_id(report.commit)}{wrong}"


def _wrong_text(problems: Iterable[Problem]) -> str:
    """Return what is wrong as the end of a sentence; what is only to be remembered is left out."""
    return "".join(f", {problem}" for problem in problems if problem.is_wrong)
