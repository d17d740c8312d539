"""Tells a forge how each commit stands: pending while a pass looks at it, then what came of it.

A commit is what people pushed: it fails if they must edit something. Decisions are linked.
"""

from collections.abc import Callable

from reconciler.audit.printable import printable
from reconciler.audit.short_id import short_id
from reconciler.core.message import is_told
from reconciler.shell.daemon.events import DaemonEvent, PassBegun, PassFailed, PassFinished
from reconciler.shell.git.masking import masked
from reconciler.shell.passes.pass_summary import PassSummary
from reconciler.shell.reports.forges import CommitStatus, StatusState


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
                known = self._said is not None and self._said.revision == event.revision
                if not known and event.revision != self._own:
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
    stuck = sum(bool(decision.problem) for decision in report.decisions)
    waits = f", {stuck} unschedulable" if stuck else ""
    if report.commit is None:
        return StatusState.SUCCESS, f"nothing to decide{waits}"
    count = sum(map(is_told, report.decisions))
    decided = f"{count} decision{'s' if count != 1 else ''}"
    return StatusState.SUCCESS, f"{decided} in {short_id(report.commit)}{waits}"
