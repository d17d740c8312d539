"""What is known of the copies of an object in clusters, as each API tells it of its decisions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World


class Report(StrEnum):
    """What a cluster says of its copy; `REPORTED` where its kind has no notion of health."""

    NONE = "none"
    ASSUMED = "assumed"
    REPORTED = "reported"
    UNHEALTHY = "unhealthy"
    HEALTHY = "healthy"


FINE = frozenset({Report.ASSUMED, Report.HEALTHY})
"""What counts as healthy where something waits for health."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStatus:
    """What is known of one copy.

    Attributes:
        cluster: Where it is, or is to be.
        replicas: How many a decision wants there, 0 where there are none to count.
        leaving: Whether the object leaves that cluster, and the copy stays for now.
        report: What the cluster says of it, or what is assumed of its silence.
        note: More of the report: how much of it is ready, or why it counts as unhealthy.
        waits_for: What has to happen before its cluster gets what is new, or is left; a clause.
    """

    cluster: ClusterName
    replicas: int = 0
    leaving: bool = False
    report: Report = Report.NONE
    note: str = ""
    waits_for: str = ""


Copies = Callable[[ObjectKey], tuple[CopyStatus, ...]]
"""Returns the copies of what a decision is about, by cluster; none if it is about no content."""


def no_copies(_world: World, _now: datetime, /) -> Copies:
    """Return what knows of no copy: for an API whose decisions bring no content anywhere."""
    return lambda _: ()


def ready(status: Mapping[str, object], replicas: int) -> str:
    """Return how many replicas of a reported status are ready, `""` if it does not count them.

    >>> ready({"readyReplicas": 1}, 2)
    '1 of 2 ready'
    """
    found = status.get("readyReplicas")
    return f"{found} of {replicas} ready" if isinstance(found, int) and replicas else ""


def waits_for_health(clusters: Iterable[str], state: str = "healthy") -> str:
    """Return that something waits for an object to run elsewhere; without any, for a pass."""
    names = ", ".join(sorted(clusters))
    return f"it to be {state} on {names}" if names else "the next pass"
