"""What was decided for one cluster, as a policy snapshot lists it and a binding holds it."""

from functools import partial
from typing import NamedTuple

from reconciler.model import fields
from reconciler.model.body import Body

NOTHING: Body = {}


class ClusterDecision(NamedTuple):
    """A decision; `body` is that as it is written, which bindings and snapshots share.

    A tuple, since PickAll makes thousands at once.

    Source: kubefleet@e160c1c apis/placement/v1beta1/policysnapshot_types.go `ClusterDecision`.
    """

    cluster: str = ""
    selected: bool = False
    reason: str = ""
    body: Body = NOTHING

    @property
    def score(self) -> tuple[int, int] | None:
        """By topology, then by affinity; `None` without any."""
        score = fields.mapping_or_none(self.body, "clusterScore")
        if score is None:
            return None
        return fields.number(score, "priorityScore"), fields.number(score, "affinityScore")


NO_DECISION = ClusterDecision()
_decision = partial(tuple.__new__, ClusterDecision)  # half of the constructor's time


def decode_decision(body: Body) -> ClusterDecision:
    """Return a decision from a snapshot or a binding.

    Raises:
        UserError: A field has the wrong type.
    """
    selected = body.get("selected") is True
    return _decision(
        (fields.text(body, "clusterName"), selected, fields.text(body, "reason"), body)
    )


def new_decision(cluster: str, reason: str, *, selected: bool) -> ClusterDecision:
    """Return a decision for a cluster that was not scored."""
    body = {"clusterName": cluster, "selected": selected, "reason": reason}
    return ClusterDecision(cluster, selected, reason, body)


def encode_score(affinity: int, topology: int) -> Body:
    """Return the score of a decision as it is written."""
    return {"affinityScore": affinity, "priorityScore": topology}


def scored_decision(cluster: str, reason: str, score: Body, *, selected: bool) -> ClusterDecision:
    """Return a decision for a cluster, with the score that counted."""
    body = {"clusterName": cluster, "selected": selected, "clusterScore": score, "reason": reason}
    return _decision((cluster, selected, reason, body))


def reworded(decision: ClusterDecision, reason: str) -> ClusterDecision:
    """Return a decision with another reason."""
    return decision._replace(reason=reason, body={**decision.body, "reason": reason})


def chosen(decision: ClusterDecision, cluster: str) -> ClusterDecision:
    """Return a decision as one that selects a cluster."""
    body = {**decision.body, "clusterName": cluster, "selected": True}
    return decision._replace(cluster=cluster, selected=True, body=body)
