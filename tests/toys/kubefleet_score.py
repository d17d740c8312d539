"""A toy: clusters come first that are liked."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.member import Members
from reconciler.dialects.kubefleet.scheduler.plugins import Request
from reconciler.schedule.framework import Levels, Mask


def score_liking(_request: Request, members: Members, _feasible: Mask, _now: datetime, /) -> Levels:
    """Score by the number in the label `liked`."""
    by_value = members.fleet.by_label.get("liked", {})
    return [(int(value), clusters) for value, clusters in by_value.items()]
