"""What the daemon says of itself while it runs, for whoever watches it.

Each event is a frozen value. An observer is called in the daemon's own thread, so it only takes
note: it never waits, and it hands to other threads nothing but values that do not change.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.errors import ShellError, UsageError
from reconciler.shell.passes.pass_report import PassReport
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
    `first` whether the daemon knows of none.
    """

    report: PassReport
    seconds: float
    moved: bool
    first: bool


@dataclass(frozen=True, slots=True)
class PassFailed:
    """The branch could not be read, or a pass did not end well, `failures` times in a row."""

    error: Exception
    failures: int

    @property
    def refused(self) -> bool:
        """Whether the outside or the machine refused; else it is a mistake of the reconciler."""
        known = isinstance(self.error, ShellError | UsageError | OSError)
        return known or limit_met(self.error) is not None

    @property
    def reason(self) -> str:
        """Why, in words; of a mistake of our own only its class."""
        if isinstance(self.error, OSError):
            return refusal_of(self.error)
        if self.refused:
            return limit_met(self.error) or str(self.error)
        return f"a mistake of the reconciler itself ({type(self.error).__name__}), see the log"


DaemonEvent = LoopTurned | BranchRead | PassBegun | PassFinished | PassFailed
Observer = Callable[[DaemonEvent], None]
