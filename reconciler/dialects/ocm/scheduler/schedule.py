"""One run of the scheduler: filter, score, order, choose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.scheduler.filter_taints import tolerated_until
from reconciler.dialects.ocm.scheduler.profile import PROFILE
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.dialects.ocm.scheduler.weights import prioritizers_of
from reconciler.errors import Misconfigured, UserError
from reconciler.model.explanation import ScorePart
from reconciler.model.identity import ClusterName
from reconciler.schedule.columns import Numbers, best_first, listed, weighted_sum
from reconciler.schedule.framework import (
    Mask,
    Rejection,
    positions_of,
    run_filters,
)

NEGATIVE = "numberOfClusters must be greater than or equal to 0"


class Code(StrEnum):
    """How a run ended. A warning does not stop it, the other two do."""

    SUCCESS = "Success"
    WARNING = "Warning"
    ERROR = "Error"
    MISCONFIGURED = "Misconfigured"


@dataclass(frozen=True, slots=True)
class Status:
    """How a run ended, by which plugin, `""` for none, and upstream's sentence."""

    code: Code = Code.SUCCESS
    plugin: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ScoredPlacement:
    """What one prioritizer answered, with the weight it has."""

    name: str
    weight: int
    scores: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleResult:
    """A run of the scheduler.

    Attributes:
        status: How it ended.
        passed: Clusters left after each filter that completed, keyed by all names up to it.
        feasible: Clusters left after the last filter that ran.
        rejections: Why the other candidates were turned away.
        scored: What each prioritizer answered, in their order.
        totals: Weighted totals of the feasible clusters, ascending by name; `None` if the run was
            stopped early.
        order: Positions of the feasible clusters, best first; empty if the run was stopped early.
        picked: Positions of the clusters chosen, best first.
        ranked: The clusters chosen, best first.
        unscheduled: How many fewer than asked for.
        until: When a toleration of a decided cluster ends, `None` if never or stopped early.
    """

    status: Status
    passed: Mapping[str, Mask]
    feasible: Mask
    rejections: tuple[Rejection, ...] = ()
    scored: tuple[ScoredPlacement, ...] = ()
    totals: "Numbers | None" = None
    order: Numbers = field(default_factory=list)
    picked: Sequence[int] = ()
    ranked: tuple[ClusterName, ...] = ()
    unscheduled: int = 0
    until: datetime | None = None


def schedule(request: Request, members: Members, now: datetime) -> ScheduleResult:
    """Choose clusters for a placement.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/schedule.go `Schedule`.
    """
    filtered = _filter(request, members, now)
    if filtered.status.code is Code.MISCONFIGURED:
        return filtered
    try:
        prioritizers = prioritizers_of(request.placement)
    except Misconfigured as error:
        return _stopped(filtered, Status(Code.MISCONFIGURED, "", error.message))
    if (request.placement.number_of_clusters or 0) < 0:
        # Unlike upstream: it crashes on a negative number.
        return _stopped(filtered, Status(Code.MISCONFIGURED, "", NEGATIVE))
    scored: list[ScoredPlacement] = []
    status = filtered.status
    for item in prioritizers:
        try:
            scores = item.score(request, members, filtered.feasible, now)
        except UserError as error:
            return _stopped(filtered, Status(Code.ERROR, item.name, error.message), tuple(scored))
        scored.append(ScoredPlacement(item.name, item.weight, scores))
        if scores.expired:
            expired = " ".join(scores.expired)
            message = f"AddOnPlacementScores {expired} expired"
            status = Status(Code.WARNING, item.name, message)
    totals = add_up(scored, filtered.feasible)
    order = best_first(totals, filtered.feasible)
    wanted = request.placement.number_of_clusters
    picked = listed(order if wanted is None else order[:wanted])
    return ScheduleResult(
        status=status,
        passed=filtered.passed,
        feasible=filtered.feasible,
        rejections=filtered.rejections,
        scored=tuple(scored),
        totals=totals,
        order=order,
        picked=picked,
        ranked=tuple(map(members.fleet.names.__getitem__, picked)),
        unscheduled=0 if wanted is None else wanted - len(picked),
        until=tolerated_until(request, members, now),
    )


def _filter(request: Request, members: Members, now: datetime) -> ScheduleResult:
    """Run the filters; one that has no cluster left to judge does not even look at its rules."""
    left = request.candidates
    passed: dict[str, Mask] = {}
    rejections: tuple[Rejection, ...] = ()
    for number, (name, reject) in enumerate(PROFILE.filters.items(), start=1):
        try:
            left, turned_away = run_filters({name: reject}, request, members, left, now)
        except Misconfigured as error:
            status = Status(Code.MISCONFIGURED, name, error.message)
            return ScheduleResult(
                status=status, passed=passed, feasible=left, rejections=rejections
            )
        rejections += turned_away
        passed[",".join(list(PROFILE.filters)[:number])] = left
    return ScheduleResult(status=Status(), passed=passed, feasible=left, rejections=rejections)


def _stopped(
    filtered: ScheduleResult, status: Status, scored: tuple[ScoredPlacement, ...] = ()
) -> ScheduleResult:
    """Return what is known of a run that ended after its filters."""
    return ScheduleResult(
        status=status,
        passed=filtered.passed,
        feasible=filtered.feasible,
        rejections=filtered.rejections,
        scored=scored,
    )


def add_up(scored: Sequence[ScoredPlacement], feasible: Mask) -> Numbers:
    """Return the sum of weight times score of each feasible cluster."""
    parts = [(item.weight, item.scores.column) for item in scored]
    return weighted_sum(parts, feasible.bit_count())


def parts_by_cluster(
    result: ScheduleResult, members: Members
) -> dict[ClusterName, tuple[ScorePart, ...]]:
    """Return what makes up the total of each feasible cluster, ascending by name.

    The parts come in the order of the prioritizers; one that said nothing of a cluster has none.
    Nobody has a total if the run was stopped early.
    """
    if result.totals is None:
        return {}
    found: dict[int, list[ScorePart]] = {i: [] for i in positions_of(result.feasible)}
    for item in result.scored:
        silent = item.scores.silent
        for (i, parts), score in zip(found.items(), listed(item.scores.column), strict=True):
            if not silent >> i & 1:
                parts.append(ScorePart(item.name, score, item.weight))
    return {members.fleet.names[i]: tuple(parts) for i, parts in found.items()}
