"""What an API reads of room in its clusters."""

from dataclasses import dataclass

from reconciler.model.resources import Resources


@dataclass(frozen=True, slots=True)
class ReportedRoom:
    """What is left in a cluster by its status; `digest` differs where a report says otherwise.

    A heartbeat is not another report of room.
    """

    free: Resources
    digest: str
