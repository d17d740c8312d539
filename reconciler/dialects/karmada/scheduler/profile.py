"""The plugins of Karmada's scheduler by their upstream names."""

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.filter_affinity import reject_affinity
from reconciler.dialects.karmada.scheduler.filter_api import reject_missing_apis
from reconciler.dialects.karmada.scheduler.filter_eviction import reject_evicting
from reconciler.dialects.karmada.scheduler.filter_room import reject_full
from reconciler.dialects.karmada.scheduler.filter_spread import reject_without_topology
from reconciler.dialects.karmada.scheduler.filter_taints import reject_taints
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.dialects.karmada.scheduler.score_affinity import score_affinity
from reconciler.dialects.karmada.scheduler.score_locality import score_locality
from reconciler.schedule.framework import Levels, Profile

PROFILE: Profile[Request, Members, Levels] = Profile(
    # Upstream's registry is a Go map: which plugin gives the reason is random there. This is the
    # order in which it registers them; feasibility does not depend on it.
    filters={
        "APIEnablement": reject_missing_apis,
        "TaintToleration": reject_taints,
        "ClusterAffinity": reject_affinity,
        "SpreadConstraint": reject_without_topology,
        "ClusterEviction": reject_evicting,
        "Capacity": reject_full,  # ours, and silent unless room is protected
    },
    scores={"ClusterAffinity": score_affinity, "ClusterLocality": score_locality},
)
"""Scores are added up."""
