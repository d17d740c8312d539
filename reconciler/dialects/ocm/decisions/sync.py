"""The whole of one sync: the offer, the choice, its groups, the conditions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.ocm.api.cluster_sets import (
    ClusterSet,
    OfferedClusters,
    SetBinding,
    offer_of,
)
from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement import Placement
from reconciler.dialects.ocm.decisions.decision_groups import Grouped, group
from reconciler.dialects.ocm.decisions.placement_decisions import DecisionsSoFar
from reconciler.dialects.ocm.scheduler.request import Request
from reconciler.dialects.ocm.scheduler.schedule import Code, ScheduleResult, Status, schedule
from reconciler.dialects.ocm.scheduler.weights import may_balance
from reconciler.dialects.scores.reports import Reports
from reconciler.model.conditions import Condition
from reconciler.schedule.framework import NO_CLUSTERS

MISCONFIGURED = "PlacementMisconfigured"
SATISFIED = "PlacementSatisfied"


@dataclass(frozen=True, slots=True)
class Hub:
    """What placements are decided from, beside the decisions.

    Attributes:
        members: The clusters.
        sets: By name.
        bindings: By namespace.
        reports: Scores of add-ons.
    """

    members: Members
    sets: Mapping[str, ClusterSet]
    bindings: Mapping[str, tuple[SetBinding, ...]]
    reports: Reports = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncVerdict:
    """What a placement should be.

    `status` is that of the run, or the wrong grouping that overrides it. `conditions` come in the
    order in which they are set.
    """

    request: Request
    offer: OfferedClusters
    result: ScheduleResult
    grouped: Grouped
    status: Status
    conditions: tuple[Condition, ...]


def judge(
    placement: Placement, hub: Hub, decided: DecisionsSoFar, now: datetime, *, afresh: bool = False
) -> SyncVerdict | None:
    """Decide a placement, `None` if nothing is to be scheduled.

    If `afresh`, its own decisions so far do not count: every cluster is new to it, and none is
    steadied.

    Raises:
        UserError: A cluster set cannot be used; everything stays as it is.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `syncPlacement`.
    """
    if placement.deleting or placement.disabled:
        return None
    bindings = hub.bindings.get(placement.namespace, ())
    offer = offer_of(placement, hub.sets, bindings, hub.members)
    request = Request(
        placement=placement,
        candidates=offer.clusters,
        decided=NO_CLUSTERS
        if afresh
        else hub.members.fleet.named(
            name for decision in decided.own(placement) for name in decision.clusters
        ),
        others=decided.of_others(placement, hub.members.fleet) if may_balance(placement) else None,
        reports=hub.reports,
    )
    result = schedule(request, hub.members, now)
    names = hub.members.fleet.names
    grouped = group(placement, [names[place] for place in sorted(result.picked)], hub.members)
    status = result.status
    if grouped.problem:
        status = Status(Code.MISCONFIGURED, "", grouped.problem)
    return SyncVerdict(
        request=request,
        offer=offer,
        result=result,
        grouped=grouped,
        status=status,
        conditions=(_misconfigured(status), _satisfied(placement, offer, result, status)),
    )


def _misconfigured(status: Status) -> Condition:
    """Return whether the placement can be used as written.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `newMisconfiguredCondition`.
    """
    if status.code is Code.MISCONFIGURED:
        message = f"{status.plugin}:{status.message}"
        return Condition(MISCONFIGURED, "True", "Misconfigured", message)
    message = "Placement configurations check pass"
    return Condition(MISCONFIGURED, "False", "Succeedconfigured", message)


def _satisfied(
    placement: Placement, offer: OfferedClusters, result: ScheduleResult, status: Status
) -> Condition:
    """Return whether the placement has all the clusters that it asks for, else the first reason.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `newSatisfiedCondition`.
    """
    if not offer.bound:
        reason = "NoManagedClusterSetBindings"
        message = "No valid ManagedClusterSetBindings found in placement namespace"
    elif not offer.eligible:
        reason = "NoIntersection"
        named = _listed(placement.cluster_sets)
        message = f"None of ManagedClusterSets {named} is bound to placement namespace"
    elif not offer.clusters:
        reason = "AllManagedClusterSetsEmpty"
        named = _listed(offer.eligible)
        message = f"All ManagedClusterSets {named} have no member ManagedCluster"
    elif status.code is Code.ERROR:
        reason, message = "NotAllDecisionsScheduled", status.message
    elif not result.ranked:
        reason = "NoManagedClusterMatched"
        message = "No ManagedCluster matches any of the cluster predicate"
    elif result.unscheduled:
        reason = "NotAllDecisionsScheduled"
        message = f"{result.unscheduled} cluster decisions unscheduled"
    else:
        message = "All cluster decisions scheduled"
        return Condition(SATISFIED, "True", "AllDecisionsScheduled", message)
    return Condition(SATISFIED, "False", reason, message)


def _listed(names: Iterable[str]) -> str:
    """Return names as upstream lists them."""
    return f"[{','.join(names)}]"
