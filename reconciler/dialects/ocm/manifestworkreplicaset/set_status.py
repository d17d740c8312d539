"""The status of a ManifestWorkReplicaSet after one look at it.

Source: ocm@00f84c3 open-cluster-management.io/api work/v1alpha1
types_manifestworkreplicaset.go `ManifestWorkReplicaSetStatus`.
"""

from reconciler.dialects.ocm.api.replica_set_status import (
    PlacementCounts,
    encode_status,
    known_counts,
)
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    COUNTED,
    PlacementSummary,
    SetOutcome,
)
from reconciler.model.body import Body
from reconciler.model.conditions import set_condition
from reconciler.model.fields import bodies


def status_after(known: Body, outcome: SetOutcome, *, at: str) -> Body:
    """Return the status; what one look does not reach stays as it is.

    Upstream never sets `desiredTotal` and `updated`.

    Args:
        known: The status so far.
        outcome: What the look led to.
        at: Text of the present moment.
    """
    conditions = list(bodies(known, "conditions"))
    for condition in outcome.conditions:
        conditions = set_condition(conditions, condition, at=at)
    earlier = known_counts(known)
    if outcome.summaries is None:
        return encode_status(known, conditions, earlier, None)
    sums = {
        word: sum(one.counts[word] for one in outcome.summaries if one.counts) for word in COUNTED
    }
    sums["total"] = sum(one.total for one in outcome.summaries)
    each = [_counted(one) for one in outcome.summaries]
    return encode_status(known, conditions, {**earlier, **sums}, each)


def _counted(one: PlacementSummary) -> PlacementCounts:
    return PlacementCounts(one.name, one.groups, {**one.counts, "total": one.total})
