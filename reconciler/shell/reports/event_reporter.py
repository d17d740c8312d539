"""Tells a webhook of ours what was decided and what is wrong, in one signed document a pass.

The envelope has the fields of the events that Flux's notification-controller sends: severity,
timestamp, message, reason, reportingController, metadata. The signature is its generic-hmac.

Source: notification-controller docs/spec/v1beta3/providers.md, generic and generic-hmac.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import datetime

from reconciler.audit.json_shapes import fault_json, object_json, placed_json
from reconciler.core.message import is_told
from reconciler.model.decision import Decision
from reconciler.model.moments import format_moment
from reconciler.model.world import Fault
from reconciler.shell.clock import Clock
from reconciler.shell.daemon.events import DaemonEvent, PassFailed, PassFinished
from reconciler.shell.git.masking import masked
from reconciler.shell.passes.pass_summary import PassSummary
from reconciler.shell.reports.outbox import OutgoingRequest

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
        found = frozenset(report.faults)
        decided = [one for one in report.decisions if is_told(one) or one.problem]
        news = report.commit is not None and bool(decided)
        if news or found != self._faults or self._failed:
            reason = "DecisionsCommitted" if news else "FaultsChanged"
            if self._failed and not news and found == self._faults:
                reason = "PassRecovered"
            metadata = {"revision": report.heads.inputs}
            if report.commit is not None:
                metadata["commit"] = report.commit
            lists = {
                "decisions": [_decision(one) for one in decided[:MOST_LISTED]] if news else [],
                "faults": [fault_json(one) for one in report.faults[:MOST_LISTED]],
            }
            count = len(decided) if news else 0
            says = f"{_counted(count, 'decision')}, {_counted(len(found), 'fault')}"
            self._send(reason, "error" if found else "info", says, report.now, metadata, lists)
        self._faults, self._failed = found, False

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
        told = {
            "severity": severity,
            "reason": reason,
            "message": message,
            "reportingController": "reconciler",
            "metadata": {**self._place, **metadata},
            **lists,
        }
        name = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]
        if not metadata:  # a failure is of a moment, not of a commit
            name = hashlib.sha256(f"{name} {format_moment(at)}".encode()).hexdigest()[:32]
        body = json.dumps({"id": name, "timestamp": format_moment(at), **told}).encode()
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
