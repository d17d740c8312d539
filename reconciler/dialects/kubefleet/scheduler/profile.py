"""The plugins of KubeFleet's scheduler by their upstream names, and the filters run over a fleet.

Source: kubefleet@e160c1c pkg/scheduler/profile/profile.go `NewDefaultProfile`.
"""

from collections.abc import Iterable
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.failure import UpstreamCrash
from reconciler.dialects.kubefleet.scheduler.filter_affinity import reject_affinity
from reconciler.dialects.kubefleet.scheduler.filter_eligibility import reject_ineligible
from reconciler.dialects.kubefleet.scheduler.filter_namespace import reject_namespace
from reconciler.dialects.kubefleet.scheduler.filter_room import reject_full
from reconciler.dialects.kubefleet.scheduler.filter_same_placement import reject_placed
from reconciler.dialects.kubefleet.scheduler.filter_taints import reject_taints
from reconciler.dialects.kubefleet.scheduler.filter_topology import reject_skew
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import (
    AFFINITY,
    SAME_PLACEMENT,
    TOPOLOGY,
)
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.dialects.kubefleet.scheduler.score_affinity import score_affinity
from reconciler.dialects.kubefleet.scheduler.score_same_placement import score_placed
from reconciler.dialects.kubefleet.scheduler.score_topology import score_topology
from reconciler.dialects.kubefleet.scheduler.topology import SkewViolation
from reconciler.schedule.framework import (
    Levels,
    Mask,
    Profile,
    Rejection,
    first_positions,
    run_filters,
)

PROFILE: Profile[Request, Members, Levels] = Profile(
    filters={
        AFFINITY: reject_affinity,
        "ClusterEligibility": reject_ineligible,
        "NamespaceAffinity": reject_namespace,
        "TaintToleration": reject_taints,
        SAME_PLACEMENT: reject_placed,
        TOPOLOGY: reject_skew,
        "Capacity": reject_full,  # ours, and silent unless room is protected
    },
    scores={
        TOPOLOGY: score_topology,
        AFFINITY: score_affinity,
        SAME_PLACEMENT: score_placed,
    },
)
"""Scores are compared one after the other, in the order written."""


def filter_members(
    request: Request, members: Members, now: datetime
) -> tuple[Mask, tuple[Rejection, ...]]:
    """Return the feasible clusters, and the rejections that are told to the user.

    Raises:
        UnexpectedBehavior: A filter cannot judge a cluster.
        UpstreamCrash: A hard constraint without maxSkew is violated.
    """
    feasible, rejections = run_filters(PROFILE.filters, request, members, members.fleet.all, now)
    for rejection in rejections:
        reason = rejection.reason
        if isinstance(reason, SkewViolation) and reason.constraint.max_skew is None:
            raise UpstreamCrash(f"maxSkew of {reason.constraint.topology_key} must be given")
    return feasible, tuple(item for item in rejections if item.plugin != SAME_PLACEMENT)


def describe_rejections(
    rejections: Iterable[Rejection], members: Members, limit: int
) -> tuple[tuple[str, str], ...]:
    """Return the first rejected clusters by name, each with its reason; none is rejected twice."""
    found = [
        (position, reason)
        for clusters, reason in ((item.clusters, str(item.reason)) for item in rejections)
        for position in first_positions(clusters, limit)
    ]
    found.sort()
    names = members.fleet.names
    return tuple([(names[position], reason) for position, reason in found[:limit]])
