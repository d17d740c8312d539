"""A placement as rebalancers see it: where it is, and where the scheduler would choose afresh."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import decode_binding
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.kinds import BINDINGS, POLICY_SNAPSHOTS
from reconciler.dialects.kubefleet.api.names import SCHEDULED_CONDITION
from reconciler.dialects.kubefleet.api.placement_status import decode_placement_status
from reconciler.dialects.kubefleet.api.policy import PICK_N
from reconciler.dialects.kubefleet.scheduler.schedule import reschedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import decode_snapshot
from reconciler.dialects.kubefleet.snapshots.revision import is_latest
from reconciler.dialects.kubefleet.view.decision_record import (
    known_problem,
    placed,
    placed_bindings,
    problem_of,
)
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.target import FreshPlace, PresentPlace, Standing, TargetState


def standing_of(own: Body | None, left: Mapping[ObjectKey, Body]) -> Standing:
    """Return where a placement is, as the last pass left it.

    Args:
        own: Its status file, `None` without one.
        left: The outputs that belong to it.
    """
    lacks = known_problem(decode_placement_status(own or {}))
    return Standing(
        clusters=frozenset(str(name) for name, _ in placed(left)),
        states=frozenset({TargetState.UNSCHEDULABLE} if lacks else ()),
    )


def present_place(left: Mapping[ObjectKey, Body]) -> PresentPlace | None:
    """Return where a placement is, `None` if that cannot be told; a number is never exceeded.

    Args:
        left: The outputs that belong to the placement.
    """
    latest = _latest_snapshot(left)
    if latest is None:
        return None
    clusters = placed(left)
    try:
        snapshot = decode_snapshot(latest)
        counted = snapshot.policy.placement_type == PICK_N
        whole = counted and len(clusters) >= snapshot.number_of_clusters
    except UserError:
        return None
    return PresentPlace(clusters, whole=whole)


def fresh_place(
    left: Mapping[ObjectKey, Body], members: Members, now: datetime
) -> FreshPlace | None:
    """Return where the scheduler would put a placement afresh, by the policy that it was given.

    How fast its rollout gets there is another question.

    Args:
        left: The outputs that belong to the placement.
        members: All clusters, at `now`.
        now: Moment of the pass.
    """
    latest = _latest_snapshot(left)
    if latest is None:
        return None
    try:
        snapshot = decode_snapshot(latest)
        bindings = [decode_binding(body) for key, body in left.items() if key.kind in BINDINGS]
        result = reschedule(snapshot, bindings, members, now)
    except UserError:
        return None
    if result.error is not None:
        return None
    conditions = (result.status or snapshot.status).conditions or ()
    scheduled = next((one for one in conditions if one.get("type") == SCHEDULED_CONDITION), {})
    return FreshPlace(
        before=placed(left),
        after=placed_bindings(result.bindings.values()),
        problem=problem_of(scheduled),
    )


def _latest_snapshot(left: Mapping[ObjectKey, Body]) -> Body | None:
    """Return the policy snapshot by which a placement is decided, `None` if there is none yet."""
    found = (b for k, b in left.items() if k.kind in POLICY_SNAPSHOTS and is_latest(b))
    return next(found, None)
