"""What a round tells of one binding: from where to where, why, and which clusters were rejected."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.groups import CLUSTER
from reconciler.dialects.karmada.api.policies import Policy
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.application_failover import Failing
from reconciler.dialects.karmada.eviction.taint_manager import Action, Eviction, Leaving
from reconciler.dialects.karmada.scheduler.failure import refused_before
from reconciler.dialects.karmada.scheduler.reschedule_requests import (
    RescheduleRequest,
    known_problem,
)
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.view.explanation import LEAVING
from reconciler.dialects.karmada.view.failover_words import eviction_text
from reconciler.dialects.karmada.view.weighing import weightless
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.schedule.framework import Mask, positions_of

BY_HAND = "rescheduleTriggeredAt edited by hand"
FREED = "by what others use of it"
ROOM = "room is free by now"
RECORDED = "by the placement of its binding, since no policy claims it"


class Happened(NamedTuple):
    """What may have moved a binding in a round; `None` where nothing of the sort was there.

    `demand` is a rebalancer's that was met, `note` what kept it from a better result. `edited` says
    that a person changed the clusters since the last pass. `spec` is what the round leaves.
    `protected` says that room in clusters is.
    """

    demand: Demand | None
    asked: RescheduleRequest
    eviction: Eviction | None
    failing: Failing
    verdict: ScheduleVerdict | None
    edited: bool
    spec: BindingSpec
    note: str = ""
    protected: bool = False


def decision_on(
    draft: Draft,
    before: Placed,
    after: Placed,
    happened: Happened,
    members: Members,
    now: datetime,
) -> Decision | None:
    """Return what moved, what was asked for, or what is newly wrong; `None` if nothing of these.

    A schedule that somebody asked for is told though nothing moved.
    """
    verdict = happened.verdict
    problem = "" if verdict is None else verdict.problem
    news = problem and problem != known_problem(happened.asked.status)
    if before == after and not (news or happened.demand or happened.asked.by_hand):
        return None
    return Decision(
        key=draft.key,
        subject=draft.subject,
        cause=_cause(draft, happened),
        before=before,
        after=after,
        problem=problem,
        rejected=_rejected(draft, verdict, members, now),
        evicted=(*(item.cluster for item in _left(happened)), *happened.failing.leaving),
    )


_CAUSES: Mapping[ScheduleReason, CauseKind] = {
    ScheduleReason.RESCHEDULE_TRIGGERED: CauseKind.REBALANCED,
    ScheduleReason.TERMINATING_TARGET_CLUSTER: CauseKind.CLUSTER_GONE,
}
_CHANGES: Mapping[ScheduleReason, tuple[Callable[[BindingSpec], object], CauseKind]] = {
    ScheduleReason.PLACEMENT_CHANGED: (lambda spec: spec.placement, CauseKind.PLACEMENT_CHANGED),
    ScheduleReason.REPLICAS_CHANGED: (lambda spec: spec.replicas, CauseKind.REPLICAS_CHANGED),
}
"""In what of the binding such a change shows; a schedule that failed lacks it, too."""


def _claimed_by(policy: Policy | None) -> str:
    """Return which policy has a binding made."""
    name = "" if policy is None else policy.key.name
    # Unlike upstream: trees do not say which came first, so what has no binding is placed at once.
    lazy = ", Lazy, which found no binding" if policy is not None and policy.lazy else ""
    return f"policy {name}{lazy}"


def _cause(draft: Draft, happened: Happened) -> Cause:
    """Return why a binding moved; a rebalancer comes first, then evictions, then the trigger.

    A first placement is no rebalance, though one may be asked for beside.
    """
    demand, failing = happened.demand, happened.failing
    if draft.present is None:
        detail = _claimed_by(draft.policy)
        detail = detail if demand is None else f"{detail}, {demand.by}"
        return Cause(CauseKind.CREATED, detail, sources=(workload_of(draft), *policy_of(draft)))
    if demand is not None:
        recorded = f", {RECORDED}" if happened.asked.recorded else ""
        note = f"; {happened.note}" if happened.note else ""
        return Cause(CauseKind.REBALANCED, f"{demand.by}{recorded}{note}", sources=demand.askers)
    left = _left(happened)
    if left or failing.leaving:
        reasons = {d.cluster: str(d.untolerated or "toleration ended") for d in left}
        reasons |= dict.fromkeys(failing.leaving, "the workload is unhealthy there")
        tainted = tuple(ObjectKey(*CLUSTER, "", d.cluster) for d in left if d.untolerated)
        return Cause(CauseKind.EVICTED, eviction_text(reasons, happened.spec), sources=tainted)
    if happened.edited:
        return Cause(CauseKind.EDITED)
    if happened.asked.by_hand:
        return Cause(CauseKind.REBALANCED, BY_HAND)
    trigger = happened.verdict.trigger if happened.verdict is not None else ScheduleReason.NONE
    if happened.asked.again and _is_retry(draft, trigger):
        return Cause(CauseKind.RETRIED)
    if trigger in _CHANGES:
        shown, change = _CHANGES[trigger]
        if shown(draft.stood) != shown(draft.spec):
            return Cause(change)
    if refused_before(happened.asked.status):
        return Cause(CauseKind.QUOTA_CHANGED, FREED)
    return _of_clusters(trigger, happened)


def _of_clusters(trigger: ScheduleReason, happened: Happened) -> Cause:
    """Return what of the clusters made the scheduler act; who waited for room has it by now."""
    if trigger in _CAUSES:
        return Cause(_CAUSES[trigger])
    waited = happened.protected and bool(known_problem(happened.asked.status))
    return Cause(CauseKind.CLUSTERS_CHANGED, ROOM if waited else "")


def workload_of(draft: Draft) -> ObjectKey:
    """Return whose binding it is."""
    return draft.resource.key


def policy_of(draft: Draft) -> tuple[ObjectKey, ...]:
    """Return who claims it, nobody for one without a policy."""
    return () if draft.policy is None else (draft.policy.key,)


def _left(happened: Happened) -> list[Leaving]:
    """Return the clusters whose taints have the binding leave now."""
    decisions = () if happened.eviction is None else happened.eviction.decisions
    return [decision for decision in decisions if decision.action is Action.EVICT]


def _is_retry(draft: Draft, trigger: ScheduleReason) -> bool:
    """Return whether nothing but a trigger that failed before has the scheduler look.

    What has no replicas at all since then lacks them: that is no change of what is wanted.
    """
    same = draft.stood.replicas == draft.spec.replicas
    return (
        same and trigger is ScheduleReason.REPLICAS_CHANGED
    ) or trigger is ScheduleReason.RESCHEDULE_TRIGGERED


def _rejected(
    draft: Draft, verdict: ScheduleVerdict | None, members: Members, now: datetime
) -> Mapping[ClusterName, str]:
    """Return why each cluster was turned away, by the attempt that counts.

    Clusters that are being deleted are not even asked upstream; here they have a reason, too. So
    have those that weigh nothing by their scores.
    """
    if verdict is None or not verdict.attempts:
        return {}
    attempt = verdict.attempts[0] if verdict.error is not None else verdict.attempts[-1]
    leaving = Mask(members.fleet.deleting & members.known_to(draft.spec.named))
    reasons = dict.fromkeys(positions_of(leaving), LEAVING)
    for rejection in attempt.rejections:
        reasons |= dict.fromkeys(positions_of(rejection.clusters), str(rejection.reason))
    reasons |= weightless(attempt, members, now)
    return {members.fleet.names[position]: reasons[position] for position in sorted(reasons)}
