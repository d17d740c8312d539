"""What an API reads of room in its clusters."""

from dataclasses import dataclass

from reconciler.model.resources import Resources


@dataclass(frozen=True, slots=True)
class ReportedRoom:
    """What is left in a cluster by its status.

    Attributes:
        free: What is left by what the cluster reports.
        used: What the report has as used of each resource that it says the whole amount of. What is
            placed and not contained in it takes of what is left, however old the report is.
        digest: Differs where a report says otherwise; a heartbeat is not another report of room.
    """

    free: Resources
    used: Resources
    digest: str
