"""One binding in one sweep: evict, schedule, hear its clusters, end evictions, and record it all.

The order is that in which upstream's controllers act on one another. What they would write one
after the other is written once, at the generation that their chain of events ends with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reconciler.dialects.base import Trigger as Demand
from reconciler.dialects.karmada.aggregate import PLACED_AT, Feedback, gather, with_feedback
from reconciler.dialects.karmada.applied import APPLIED_PLACEMENT
from reconciler.dialects.karmada.binding import Binding, EvictionTask, decode_binding
from reconciler.dialects.karmada.bindings import API_VERSION, Draft, ordered
from reconciler.dialects.karmada.clusters import MemberCluster, Members, Target
from reconciler.dialects.karmada.evict import Action, Eviction, evict
from reconciler.dialects.karmada.graceful import assess_tasks
from reconciler.dialects.karmada.schedule import schedule
from reconciler.dialects.karmada.settings import Failover
from reconciler.dialects.karmada.triggers import Trigger
from reconciler.dialects.karmada.verdict import Verdict
from reconciler.manifests.admission import digest
from reconciler.model.conditions import set_condition
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, uid_of
from reconciler.model.moments import earliest, format_moment, stamp
from reconciler.model.world import Body
from reconciler.schedule.framework import positions_of

DECISION_DIGEST = "reconciler.dev/decision-digest"
DEFAULT_SCHEDULER = "default-scheduler"
LEAVING = "cluster(s) being deleted, or without a file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all bindings of a sweep share."""

    members: Members
    failover: Failover
    assume_after_seconds: int | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A binding after the sweep.

    `decision` is `None` where nothing moved and nothing is newly wrong. `edited` says that a person
    changed the clusters since the last pass.
    """

    body: Body
    decision: Decision | None
    edited: bool
    until: datetime | None


def decide(draft: Draft, demand: Demand | None, around: Surroundings) -> Decided:
    """Take one binding through a sweep.

    Args:
        draft: The binding as its workload and policy want it, with the decisions so far.
        demand: A rebalancer's trigger, `None` if there is none.
        around: The fleet, the settings, the moment.

    Raises:
        UserError: Something in the binding cannot be read.
    """
    present = draft.present or {}
    spec = dict(draft.spec)
    if demand is not None:
        spec["rescheduleTriggeredAt"] = format_moment(demand.at)
    binding = decode_binding({"metadata": draft.metadata, "spec": spec, "status": draft.status})
    eviction = _evict(binding, around)
    if eviction is not None:
        binding = replace(binding, clusters=eviction.clusters, tasks=eviction.tasks)
    verdict = schedule(binding, around.members, around.now) if _considered(draft, spec) else None
    clusters = binding.clusters
    if verdict is not None and verdict.clusters is not None:
        clusters = verdict.clusters
    feedback = gather(
        [name for name, _ in clusters],
        draft.metadata,
        assume_after_seconds=around.assume_after_seconds,
        now=around.now,
    )
    tasks, tasks_until = _assess(binding, verdict, clusters, feedback, around)
    _place(spec, clusters, tasks)
    body = _record(draft, ordered(spec), binding, verdict, feedback, around.now)
    edited = _edited(present)
    return Decided(
        body=body,
        decision=_decision(draft, body, demand, eviction, verdict, around, edited=edited),
        edited=edited,
        until=earliest(
            feedback.until, tasks_until, eviction.until if eviction is not None else None
        ),
    )


def _evict(binding: Binding, around: Surroundings) -> Eviction | None:
    """Leave clusters whose NoExecute taints are not tolerated; clusters in order of name."""
    if not around.failover.enabled:
        return None
    return evict(
        binding,
        _views(binding, around.members),
        around.now,
        purge_mode=around.failover.purge_mode,
        default_toleration_seconds=around.failover.default_toleration_seconds,
    )


def _views(binding: Binding, members: Members) -> list[MemberCluster]:
    """Return the clusters that a binding is on."""
    mask = members.fleet.named(name for name, _ in binding.clusters)
    return [members.views[position] for position in positions_of(mask)]


def _considered(draft: Draft, spec: Body) -> bool:
    """Say whether our scheduler looks at a binding at all.

    Source: karmada@f8fdd02 pkg/scheduler/event_handler.go `resourceBindingEventFilter`.
    """
    if draft.policy is None:
        return False
    if (text(spec, "schedulerName") or DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
        return False
    return mapping(spec, "suspension").get("scheduling") is not True


def _assess(
    binding: Binding,
    verdict: Verdict | None,
    clusters: tuple[Target, ...],
    feedback: Feedback,
    around: Surroundings,
) -> tuple[tuple[EvictionTask, ...], datetime | None]:
    """End the evictions that are done.

    The generations are those of the end of the chain: equal unless the scheduler failed.
    """
    observed = _is_observed(verdict, binding)
    settled = replace(
        binding,
        clusters=clusters,
        generation=1,
        observed_generation=1 if observed else 0,
        health={str(item["clusterName"]): str(item["health"]) for item in feedback.aggregated},
    )
    timeout = timedelta(seconds=around.failover.eviction_timeout_seconds)
    result = assess_tasks(settled, around.now, timeout=timeout)
    return result.tasks, result.until


def _is_observed(verdict: Verdict | None, binding: Binding) -> bool:
    """Say whether the scheduler has seen the binding as this sweep leaves it."""
    if verdict is None:
        return binding.observed_generation == binding.generation
    return verdict.error is None


def _place(
    spec: dict[str, object], clusters: tuple[Target, ...], tasks: tuple[EvictionTask, ...]
) -> None:
    """Write clusters and tasks into a spec; what is empty is absent."""
    spec.pop("clusters", None)
    if clusters:
        spec["clusters"] = [
            {"name": str(name), "replicas": replicas} if replicas else {"name": str(name)}
            for name, replicas in clusters
        ]
    spec.pop("gracefulEvictionTasks", None)
    if tasks:
        spec["gracefulEvictionTasks"] = [task.body for task in tasks]


def _record(
    draft: Draft,
    spec: Body,
    binding: Binding,
    verdict: Verdict | None,
    feedback: Feedback,
    now: datetime,
) -> Body:
    """Return the whole file of a binding."""
    present = draft.present
    known = number(draft.metadata, "generation")
    same = present is not None and mapping(present, "spec") == spec
    generation = known if same and known else known + 1
    return {
        "apiVersion": API_VERSION,
        "kind": draft.key.kind,
        "metadata": _metadata(draft, spec, verdict, feedback, generation, now),
        "spec": spec,
        "status": _status(draft, binding, verdict, feedback, generation, now),
    }


def _metadata(
    draft: Draft,
    spec: Body,
    verdict: Verdict | None,
    feedback: Feedback,
    generation: int,
    now: datetime,
) -> Body:
    """Return the metadata of a binding."""
    annotations = dict(draft.annotations)
    applied = text(mapping(draft.metadata, "annotations"), APPLIED_PLACEMENT)
    if applied:
        annotations[APPLIED_PLACEMENT] = applied
    if verdict is not None and verdict.applied is not None:
        annotations[APPLIED_PLACEMENT] = verdict.applied
    annotations[PLACED_AT] = feedback.placed_at
    annotations[DECISION_DIGEST] = _decision_digest(spec)
    metadata: dict[str, object] = {"name": draft.key.name}
    if draft.key.namespace:
        metadata["namespace"] = draft.key.namespace
    metadata |= {
        "uid": uid_of(draft.key),
        "creationTimestamp": text(draft.metadata, "creationTimestamp") or stamp(now),
        "generation": generation,
        "annotations": {name: annotations[name] for name in sorted(annotations)},
    }
    if draft.labels:
        metadata["labels"] = dict(draft.labels)
    metadata["ownerReferences"] = draft.owners
    return metadata


def _status(
    draft: Draft,
    binding: Binding,
    verdict: Verdict | None,
    feedback: Feedback,
    generation: int,
    now: datetime,
) -> Body:
    """Return the status of a binding.

    Consuming a rebalancer's trigger must be seen in lastScheduledTime, so there it is no stamp.
    """
    status = dict(draft.status)
    if verdict is not None:
        if verdict.error is None and verdict.trigger is not Trigger.DELETING:
            status["schedulerObservedGeneration"] = generation
        if verdict.observed_affinity:
            status["schedulerObservingAffinityName"] = verdict.observed_affinity
        if verdict.scheduled:
            moment = format_moment(now) if binding.reschedule_required else stamp(now)
            status["lastScheduledTime"] = moment
        if verdict.condition is not None:
            conditions = bodies(status, "conditions")
            status["conditions"] = set_condition(conditions, verdict.condition, at=stamp(now))
    status = dict(with_feedback(status, feedback, now))
    order = (
        "schedulerObservedGeneration",
        "schedulerObservingAffinityName",
        "lastScheduledTime",
        "conditions",
        "aggregatedStatus",
    )
    return {name: status[name] for name in order if name in status}


def _decision_digest(spec: Body) -> str:
    """Return the digest by which a later pass sees that a person edited the clusters."""
    return digest([[name, replicas] for name, replicas in placed(spec)])


def _edited(present: Body) -> bool:
    """Say whether the clusters differ from what the last pass wrote."""
    written = text(mapping(mapping(present, "metadata"), "annotations"), DECISION_DIGEST)
    return bool(written) and written != _decision_digest(mapping(present, "spec"))


def placed(spec: Body) -> Placed:
    """Return the clusters of a binding's spec with their replicas, by name."""
    return tuple(
        sorted(
            (ClusterName(text(cluster, "name")), number(cluster, "replicas"))
            for cluster in bodies(spec, "clusters")
        )
    )


def _decision(
    draft: Draft,
    body: Body,
    demand: Demand | None,
    eviction: Eviction | None,
    verdict: Verdict | None,
    around: Surroundings,
    *,
    edited: bool,
) -> Decision | None:
    """Tell what moved, or what is newly wrong; `None` if neither."""
    before = placed(mapping(draft.present or {}, "spec"))
    after = placed(mapping(body, "spec"))
    problem = verdict.error.message if verdict is not None and verdict.error is not None else ""
    if before == after and (not problem or problem == _known_problem(draft.status)):
        return None
    return Decision(
        key=draft.key,
        subject=draft.subject,
        cause=_cause(draft, demand, eviction, verdict, edited=edited),
        before=before,
        after=after,
        problem=problem,
        rejected=_rejected(verdict, around.members),
    )


def _known_problem(status: Body) -> str:
    """Return what the Scheduled condition complains about so far."""
    for condition in bodies(status, "conditions"):
        if condition.get("type") == "Scheduled" and condition.get("status") == "False":
            return text(condition, "message")
    return ""


_CAUSES: Mapping[Trigger, CauseKind] = {
    Trigger.PLACEMENT_CHANGED: CauseKind.PLACEMENT_CHANGED,
    Trigger.REPLICAS_CHANGED: CauseKind.REPLICAS_CHANGED,
    Trigger.RESCHEDULE_TRIGGERED: CauseKind.REBALANCED,
    Trigger.TERMINATING_TARGET_CLUSTER: CauseKind.CLUSTER_GONE,
}


def _cause(
    draft: Draft,
    demand: Demand | None,
    eviction: Eviction | None,
    verdict: Verdict | None,
    *,
    edited: bool,
) -> Cause:
    """Return why a binding moved; a rebalancer comes first, then evictions, then the trigger."""
    if demand is not None:
        return Cause(CauseKind.REBALANCED, f"WorkloadRebalancer {demand.by}")
    if draft.present is None:
        detail = str(draft.policy.key.name) if draft.policy is not None else ""
        return Cause(CauseKind.CREATED, f"policy {detail}")
    left = [d for d in eviction.decisions if d.action is Action.EVICT] if eviction else []
    if left:
        reasons = (f"{d.cluster}: {d.untolerated or 'toleration ended'}" for d in left)
        return Cause(CauseKind.EVICTED, ", ".join(reasons))
    if edited:
        return Cause(CauseKind.EDITED)
    trigger = verdict.trigger if verdict is not None else Trigger.NONE
    return Cause(_CAUSES.get(trigger, CauseKind.CLUSTERS_CHANGED))


def _rejected(verdict: Verdict | None, members: Members) -> Mapping[ClusterName, str]:
    """Return why each cluster was turned away, by the attempt that counts.

    Clusters that are being deleted are not even asked upstream; here they have a reason, too.
    """
    if verdict is None or not verdict.attempts:
        return {}
    attempt = verdict.attempts[0] if verdict.error is not None else verdict.attempts[-1]
    leaving = positions_of(members.fleet.deleting)
    reasons = {members.views[position].cluster.name: LEAVING for position in leaving}
    reasons |= {
        members.views[position].cluster.name: str(rejection.reason)
        for rejection in attempt.rejections
        for position in positions_of(rejection.clusters)
    }
    return {name: reasons[name] for name in sorted(reasons)}
