"""TaintToleration: taints keep clusters out unless tolerated, for ever or for a while."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.scheduler.request import Request
from reconciler.errors import Misconfigured
from reconciler.model.moments import add, earliest, span
from reconciler.model.taints import Taint, TaintEffect, Toleration, UntoleratedTaint, tolerates
from reconciler.schedule.framework import Mask, Rejection

EMPTY_KEY = "If the key is empty, operator must be Exists."
VALUE_FOR_NOTHING = "If the operator is Exists, the value should be empty."
NANOS_PER_SECOND = 10**9
NANOS_PER_MICROSECOND = 1000
INT64 = 2**64


@dataclass(frozen=True, slots=True)
class ToleratedTaint:
    """What would help against a taint."""

    taint: Taint

    def __str__(self) -> str:
        return f"tolerate {self.taint}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How a list of taints is put up with: the taint that is not, else until when, if limited."""

    untolerated: Taint | None = None
    until: datetime | None = None


def reject_taints(request: Request, members: Members, now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters that carry a taint the placement does not tolerate.

    `PreferNoSelect` never rejects. `NoSelectIfNew` spares the clusters that the placement has
    already decided for. The rule is asked once for each distinct list of taints.

    Args:
        request: Tolerations in file order, and the clusters decided so far.
        members: Groups clusters by equal taints, in file order.
        now: Aware UTC.

    Raises:
        Misconfigured: A toleration contradicts itself.

    Source: ocm@00f84c3 pkg/placement/plugins/tainttoleration/taint_toleration.go `Filter`.
    """
    tolerations = request.placement.tolerations
    refuse_tolerations(tolerations)
    for taints, carriers in members.fleet.by_taints.items():
        for decided in (False, True):
            clusters = Mask(carriers & (request.decided if decided else ~request.decided))
            found = tolerance(taints, tolerations, decided=decided, now=now) if clusters else None
            if found is not None and found.untolerated is not None:
                taint = found.untolerated
                yield Rejection(clusters, UntoleratedTaint(taint), ToleratedTaint(taint))


def refuse_tolerations(tolerations: tuple[Toleration, ...]) -> None:
    """Raise what is wrong with the first toleration that contradicts itself.

    Raises:
        Misconfigured: Upstream's sentence.
    """
    for toleration in tolerations:
        if not toleration.key and toleration.operator != "Exists":
            raise Misconfigured(EMPTY_KEY)
        if toleration.operator == "Exists" and toleration.value:
            raise Misconfigured(VALUE_FOR_NOTHING)


def next_end(request: Request, members: Members, now: datetime) -> datetime | None:
    """Return when the toleration of any candidate ends, the first of all, `None` if never.

    Source: ours; upstream notices the end for candidates not decided at its next run only.
    """
    tolerations = request.placement.tolerations
    concerned = request.candidates | request.decided
    return earliest(
        *(
            tolerance(taints, tolerations, decided=decided, now=now).until
            for taints, carriers in members.fleet.by_taints.items()
            if carriers & concerned
            for decided in (False, True)
        )
    )


def tolerated_until(request: Request, members: Members, now: datetime) -> datetime | None:
    """Return when the toleration of a decided cluster ends, the first of all, `None` if never.

    Clusters count that were decided before, also those that the placement could not choose now,
    but not those that some taint keeps out anyway.

    Source: ocm@00f84c3 pkg/placement/plugins/tainttoleration/taint_toleration.go `RequeueAfter`.
    """
    tolerations = request.placement.tolerations
    return earliest(
        *(
            tolerance(taints, tolerations, decided=True, now=now).until
            for taints, carriers in members.fleet.by_taints.items()
            if carriers & request.decided
        )
    )


def tolerance(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], *, decided: bool, now: datetime
) -> Tolerance:
    """Judge the taints of a cluster in order.

    Of each taint the first toleration counts that fits and has not run out. Seconds apply to
    NoSelectIfNew as well.

    Source: ocm@00f84c3 pkg/placement/plugins/tainttoleration/taint_toleration.go
    `isClusterTolerated`, `isTaintTolerated`, and `isTolerationTimeExpired` (true, despite its
    name, while NOT expired).
    """
    until: datetime | None = None
    for taint in taints:
        if taint.effect is TaintEffect.PREFER_NO_SELECT:
            continue
        if taint.effect is TaintEffect.NO_SELECT_IF_NEW and decided:
            continue
        for toleration in tolerations:
            if not tolerates(toleration, taint):
                continue
            if toleration.toleration_seconds is None:
                break
            end = _end(taint, toleration.toleration_seconds)
            if end is not None and now < end:
                until = earliest(until, end)
                break
        else:
            return Tolerance(untolerated=taint)
    return Tolerance(until=until)


def _end(taint: Taint, seconds: int) -> datetime | None:
    """Return when a toleration of so many seconds ends; a taint without a moment ended long ago.

    The seconds become int64 nanoseconds and wrap around, as in Go: 9223372036 is the most.
    """
    if taint.time_added is None:
        return None
    nanos = (seconds * NANOS_PER_SECOND + INT64 // 2) % INT64 - INT64 // 2
    return add(taint.time_added, span(microseconds=nanos // NANOS_PER_MICROSECOND))
