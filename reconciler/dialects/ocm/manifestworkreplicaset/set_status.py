"""The status of a ManifestWorkReplicaSet after one look at it.

Source: ocm@00f84c3 open-cluster-management.io/api work/v1alpha1
types_manifestworkreplicaset.go `ManifestWorkReplicaSetStatus`.
"""

from collections.abc import Mapping

from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    COUNTED,
    PlacementSummary,
    SetOutcome,
)
from reconciler.model.body import Body
from reconciler.model.conditions import set_condition
from reconciler.model.fields import bodies, mapping, number

COUNTS = ("total", "applied", "available", "degraded", "desiredTotal", "progressing", "updated")


def status_after(known: Body, outcome: SetOutcome, *, at: str) -> Body:
    """Return the status; what one look does not reach stays as it is.

    Args:
        known: The status so far.
        outcome: What the look led to.
        at: Text of the present moment.
    """
    conditions = list(bodies(known, "conditions"))
    for condition in outcome.conditions:
        conditions = set_condition(conditions, condition, at=at)
    earlier = mapping(known, "summary")
    if outcome.summaries is None:
        return {**known, "conditions": conditions, "summary": _counts(earlier, earlier)}
    sums = {
        word: sum(one.counts[word] for one in outcome.summaries if one.counts) for word in COUNTED
    }
    sums["total"] = sum(one.total for one in outcome.summaries)
    return {
        **known,
        "conditions": conditions,
        "placementSummary": [_summary(one) for one in outcome.summaries],
        "summary": _counts(earlier, sums),
    }


def _summary(one: PlacementSummary) -> Body:
    counts = _counts({}, {**one.counts, "total": one.total})
    return {"name": one.name, "availableDecisionGroups": one.groups, "summary": counts}


def _counts(earlier: Body, now: Body) -> Mapping[str, int]:
    """Return the counts; upstream never sets `desiredTotal` and `updated`."""
    return {word: number(now, word) if word in now else number(earlier, word) for word in COUNTS}
