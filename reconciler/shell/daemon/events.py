"""What the daemon says of itself while it runs, for whoever watches it.

Each event is a frozen value. An observer is called in the daemon's own thread, so it only takes
note: it never waits, and it hands to other threads nothing but values that do not change.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.dialects.object_boundary import trace_of
from reconciler.errors import ShellError, UsageError
from reconciler.model.world import World
from reconciler.shell.passes.pass_summary import PassSummary
from reconciler.shell.processes.disk import refusal_of
from reconciler.shell.processes.machine_limits import limit_met


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
