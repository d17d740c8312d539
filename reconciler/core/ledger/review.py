"""When a reservation ends: what reports say of its copies, and of its cluster's capacity.

The capacity that a cluster reports contains what runs there. What was decided a moment ago does not
run yet, and the next report of capacity may be of the moment before. So a reservation stands until
the copies themselves are reported, and from then on until each API's capacity of the cluster is
seen otherwise than before: that report is of a moment at which the copies were there. A heartbeat
changes no capacity. Another pod does, but ends nothing before the copies are reported.

Where no report comes, a reservation ends once it has stood for the bound, whichever of the two it
waits for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from reconciler.core.ledger.ledger_file import ClusterLedger
from reconciler.dialects.copy_reports import CopyReports
from reconciler.model.body import Body
from reconciler.model.content import at, count_of
from reconciler.model.moments import add
from reconciler.schedule.capacity.reservation import CopyCount, Reservation

Shows = Callable[[CopyCount], bool]
"""Returns whether a cluster reports so many replicas of a workload."""

RUNNING = ("replicas", "readyReplicas", "availableReplicas")
SCALED = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})


def review(
    found: ClusterLedger,
    digests: Mapping[str, str],
    shows: Shows,
    now: datetime,
    bound: timedelta,
) -> ClusterLedger:
    """Return the reservations that still stand, the very same value where all do as before.

    Args:
        found: As the last pass left them.
        digests: API to the digest of the capacity that it reports now.
        shows: Whether the cluster reports copies.
        now: Moment of the round.
        bound: How long a reservation stands at most without a report.
    """
    if not found.held:
        return found
    changed = {api for api in digests if found.capacity.get(api) != digests[api]}
    still = frozenset(digests) - changed
    held = {one.holder: one for one in _standing(found, digests, still, shows, now, bound)}
    if held == found.held and not changed and found.capacity.keys() == digests.keys():
        return found
    return ClusterLedger(capacity=digests, held=held)


def _standing(
    found: ClusterLedger,
    digests: Mapping[str, str],
    still: frozenset[str],
    shows: Shows,
    now: datetime,
    bound: timedelta,
) -> Iterator[Reservation]:
    """Yield the reservations that stand; `still` are the APIs whose capacity is as it was."""
    for one in found.held.values():
        awaits, since = one.awaits, one.since
        if awaits is None and all(map(shows, one.copies)):
            awaits, since = tuple(sorted(digests)), now
        if awaits is not None:
            awaits = tuple(api for api in awaits if api in still)
            if not awaits:
                continue
        if add(since, bound) > now:
            yield one if awaits == one.awaits else replace(one, awaits=awaits, since=since)


def is_shown(copies: CopyReports, cluster: str, copy: CopyCount) -> bool:
    """Return whether a cluster reports so many replicas of a workload, or that it has it at all.

    Of kinds that do not tell how many run, a report is enough.
    """
    report = copies.of(copy.key, cluster)
    if report is None or not report.applied:
        return False
    running = running_in(copy.key.kind, report.body)
    return running is None or running >= copy.replicas


def running_in(kind: str, body: Body) -> int | None:
    """Return how many replicas a report says there are, `None` where its kind does not tell."""
    status = at(body, "status")
    if kind == "Job":
        return count_of(status.get("active")) + count_of(status.get("succeeded"))
    if kind == "Pod":
        return int(status.get("phase") not in (None, "", "Pending"))
    if kind not in SCALED and not any(name in status for name in RUNNING):
        return None
    return max(count_of(status.get(name)) for name in RUNNING)
