"""The only file that reads the clock of the day."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where `now` comes from; tests set theirs by hand."""

    def now(self) -> datetime:
        """Return the present moment: aware UTC, whole seconds."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the present moment, cut to the second, as Kubernetes times are."""
        return datetime.now(UTC).replace(microsecond=0)
