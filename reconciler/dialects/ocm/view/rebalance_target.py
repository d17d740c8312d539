"""A placement as rebalancers see it: where it is, and what would be chosen afresh."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.dialects.ocm.api.placement import decode_decision
from reconciler.dialects.ocm.placement_files import Draft
from reconciler.dialects.ocm.scheduler.schedule import DecisionsSoFar, Hub, judge
from reconciler.dialects.ocm.view.record import known_problem, placed, problem_of
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.target import FreshPlace, Standing, TargetState


def standing_of(status: Body | None, decisions: Mapping[ObjectKey, Body]) -> Standing:
    """Return where a placement is, as the last pass left it.

    Args:
        status: Its status file, `None` without one.
        decisions: Its PlacementDecisions.
    """
    listed = (name for body in decisions.values() for name in decode_decision(body).clusters)
    return Standing(
        clusters=frozenset(map(str, listed)),
        states=frozenset({TargetState.UNSCHEDULABLE} if known_problem(status) else ()),
    )


def fresh_place(
    draft: Draft, hub: Hub, decided: DecisionsSoFar, now: datetime
) -> FreshPlace | None:
    """Return where a placement would be put afresh, `None` where nothing can be decided.

    Args:
        draft: The placement.
        hub: What it is decided from.
        decided: The decisions of all, as they are.
        now: Moment of the pass.
    """
    try:
        verdict = judge(draft.placement, hub, decided, now, afresh=True)
    except UserError:
        return None
    if verdict is None:
        return None
    return FreshPlace(
        before=placed(decided.own(draft.placement)),
        after=placed(verdict.grouped.objects),
        problem=problem_of(verdict),
    )
