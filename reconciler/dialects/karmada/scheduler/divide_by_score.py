"""Division by a score that add-ons report, in the place of the room for replicas."""

from collections.abc import Sequence
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import Placement
from reconciler.dialects.karmada.scheduler.dispense import dispense
from reconciler.dialects.karmada.scheduler.division import (
    FAILED,
    Division,
    DivisionStep,
    DivisionStrategy,
    Mode,
    merge_shares,
    start_of,
    unchanged,
)
from reconciler.dialects.karmada.scheduler.failure import Failure, unschedulable
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.dialects.scores.reports import Reported, read_score

STRATEGY = DivisionStrategy.SCORE_WEIGHT


def divide_by_score(
    request: Request,
    members: Members,
    clusters: Sequence[int],
    now: datetime,
    *,
    wanted: int,
) -> Division | Failure:
    """Divide among some clusters by their scores, keeping to what they hold as by room.

    Unlike upstream: a cluster weighs what a score says, nothing where that is below 0; its room
    is not asked. Where fewer replicas are wanted, what is held decides, and no score.

    Source: ours, after karmada@f8fdd02 pkg/scheduler/core/assignment.go `assignByDynamicStrategy`.
    """
    mode, target, held, present = start_of(request, clusters, wanted)
    if mode is Mode.UNCHANGED:
        return unchanged(STRATEGY, held)
    if mode is Mode.SCALE_DOWN:
        weights = dict(present)
    else:
        reported = scores_asked(request.placement, members, now)
        values = () if reported is None else reported.values
        weights = {i: max(0, int(values[i])) for i in clusters}
    if target and not any(weights.values()):
        name = request.placement.weighing_score
        return unschedulable(f"no cluster has a score {name} above 0").within(FAILED[mode])
    parties, counts = list(weights), list(weights.values())
    made = DivisionStep(
        tier=0, mode=mode, target=target, room=None, parties=parties, weights=counts
    )
    shares = dispense(target, parties, counts, request.binding.uid)
    return Division(STRATEGY, merge_shares(held, shares, parties), (made,))


def scores_asked(placement: Placement, members: Members, now: datetime) -> Reported | None:
    """Return the score of each cluster that a placement weighs by, `None` if it weighs by none."""
    name = placement.weighing_score
    return None if name is None else read_score(name, members.fleet.names, members.scores, now)
