"""One binding in one round: evict, schedule, gather its reports, end evictions, and record it all.

The order is that in which upstream's controllers act on one another. What they would write one
after the other is written once, at the generation that their chain of events ends with.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import Earlier
from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.cluster_reports import Reports
from reconciler.dialects.karmada.api.clusters import MemberCluster, Members, TargetCluster
from reconciler.dialects.karmada.api.settings import Failover
from reconciler.dialects.karmada.api.work.binding_metadata import BindingMetadata
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.failover_behavior import (
    StateRules,
    cluster_state_rules,
    decode_behavior,
)
from reconciler.dialects.karmada.api.work.hub_marks import kept_marks
from reconciler.dialects.karmada.binding.merged_targets import kept_clusters
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.application_failover import (
    UNHEALTHY_SINCE,
    Failing,
    detect_failing,
    eviction_task,
)
from reconciler.dialects.karmada.eviction.graceful_eviction import GracefulEviction, assess_tasks
from reconciler.dialects.karmada.eviction.state_preservation import StatePreservation, StatusOf
from reconciler.dialects.karmada.eviction.taint_manager import Eviction, evict
from reconciler.dialects.karmada.federatedresourcequota.enforcement import (
    Refusal,
    nothing_refused,
)
from reconciler.dialects.karmada.scheduler.batched_moves import (
    MOVING_TO,
    BatchedMove,
    blocked_by_eviction,
    move,
    read_goal,
    stay,
    write_goal,
)
from reconciler.dialects.karmada.scheduler.reschedule_requests import ask
from reconciler.dialects.karmada.scheduler.schedule import complaining, refused, schedule, with_room
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.view.aggregated_status import Feedback, gather
from reconciler.dialects.karmada.view.binding_rendering import (
    DECISION_DIGEST,
    binding_file,
    digest_of,
    is_edited,
)
from reconciler.dialects.karmada.view.decision_record import Happened, decision_on
from reconciler.dialects.karmada.view.explanation import explain
from reconciler.dialects.karmada.view.failover_faults import unpreserved_faults
from reconciler.dialects.karmada.view.waits import waits_of
from reconciler.dialects.object_pass import Part
from reconciler.model.availability import Silence
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import earliest, span
from reconciler.rebalance.target import MetDemand
from reconciler.schedule.framework import Mask, positions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all bindings of a round share.

    `propagate_empty` keeps selected clusters that get no replica. `clusters_before` has the fleet
    of the last pass, `None` if it is the same; only what is told of causes depends on it. `refusal`
    says whether quotas take a change, `refusal_before` whether those of the last pass would have,
    `None` if they are the same.
    `path_of` returns where the file of a binding stands.
    """

    members: Members
    failover: Failover
    propagate_empty: bool
    copies: CopyReports
    silence: Silence
    now: datetime
    path_of: Callable[[ObjectKey], str]
    clusters_before: Earlier[Members] | None = None
    refusal: Refusal = nothing_refused
    refusal_before: Earlier[Refusal] | None = None


LEFT_ALONE = frozenset({ScheduleReason.NONE, ScheduleReason.DELETING})


def decide(draft: Draft, demand: Demand | None, around: Surroundings) -> Part:
    """Take one binding through a round.

    Args:
        draft: The binding as its workload and policy want it, with the decisions so far.
        demand: A rebalancer's trigger, `None` if there is none.
        around: The fleet, the settings, the moment.

    Raises:
        UserError: Something in the binding cannot be read.
    """
    denied = around.refusal(draft.key.namespace, draft.stood, draft.spec)
    if denied:  # the requests have grown where the binding is: its spec stays as a whole
        draft = replace(draft, spec=draft.stood._replace(components=()))
    asked = ask(draft, demand, around.now)
    spec, binding = asked.spec, asked.binding
    before = draft.stood.placed
    reports = Reports(spec.resource.key, around.copies, around.silence.is_written)
    status_of = partial(_status_in, reports, draft)
    binding, eviction = _evict(binding, spec, status_of, around)
    binding, failing = _fail_over(binding, spec, draft.metadata, reports, status_of, around)
    goal = read_goal(draft.metadata)
    verdict = _schedule(binding, around) if asked.considered else None
    moved = move(binding, verdict, goal, demand, around.members, around.now)
    if verdict is not None:
        verdict, moved = _within_quotas(draft, binding, verdict, moved, demand, around)
        verdict = complaining(verdict, denied) if denied else with_room(verdict, asked.status)
    clusters = moved.clusters
    feedback = _gather_reports(spec, clusters, draft, reports, around)
    graceful = _assess(binding, verdict, clusters, feedback, around)
    spec = spec._replace(clusters=clusters, tasks=graceful.tasks)
    after = spec.placed
    body = binding_file(
        draft,
        spec,
        asked.status,
        binding,
        verdict,
        feedback,
        around.now,
        notes={
            UNHEALTHY_SINCE: failing.since,
            MOVING_TO: write_goal(moved.goal),
            DECISION_DIGEST: digest_of(after, draft.resource),
            **kept_marks(draft.metadata, partial(kept_clusters, spec)),
        },
    )
    rescheduled = demand is not None and _has_happened(demand, verdict, moved)
    note = blocked_by_eviction(binding, verdict, around.members, around.now) if rescheduled else ""
    happened = Happened(
        demand=demand if rescheduled else None,
        note=note,
        asked=asked,
        eviction=eviction,
        failing=failing,
        verdict=verdict,
        edited=is_edited(draft.present or {}, before, draft.resource),
        spec=spec,
    )
    return Part(
        outputs={draft.key: body},
        decision=decision_on(draft, before, after, happened, around.members),
        edited=(draft.key,) if happened.edited or asked.by_hand else (),
        faults=tuple(unpreserved_faults(draft, around.path_of, eviction, failing)),
        rescheduled=rescheduled,
        met=MetDemand(moved.left, note),
        until=earliest(
            feedback.until,
            feedback.assumed_at if graceful.awaits_health else None,
            graceful.until,
            failing.until,
            None if eviction is None else eviction.until,
        ),
        waits=waits_of(draft, after, eviction, failing, graceful.ends),
        explain=partial(
            explain,
            draft,
            binding,
            verdict,
            around.members,
            around.now,
            propagate_empty=around.propagate_empty,
        ),
        local=moved.goal is None and (verdict is None or verdict.trigger in LEFT_ALONE),
    )


def _within_quotas(
    draft: Draft,
    binding: Binding,
    verdict: ScheduleVerdict,
    moved: BatchedMove,
    demand: Demand | None,
    around: Surroundings,
) -> tuple[ScheduleVerdict, BatchedMove]:
    """Return what becomes of a schedule that quotas may refuse.

    Unlike upstream: clusters are left whatever quotas say, and what comes in their place is judged
    together with that, so a binding that moves keeps what it uses.
    """
    if moved.clusters == binding.clusters:
        return verdict, moved
    wanted = draft.spec._replace(clusters=moved.clusters)
    refusal = around.refusal(draft.key.namespace, draft.stood, wanted)
    if not refusal:
        return verdict, moved
    verdict = refused(verdict, binding, refusal, around.members)
    return verdict, stay(binding, verdict, read_goal(draft.metadata), demand)


def _schedule(binding: Binding, around: Surroundings) -> ScheduleVerdict:
    """Return what the scheduler decides on a binding."""
    return schedule(binding, around.members, around.now, propagate_empty=around.propagate_empty)


def _has_happened(demand: Demand, verdict: ScheduleVerdict | None, moved: BatchedMove) -> bool:
    """Return whether the scheduler did what a rebalancer demanded, whatever came of it."""
    return moved.followed if not demand.fresh else verdict is not None and verdict.triggered


def _status_in(reports: Reports, draft: Draft, cluster: ClusterName) -> Body | None:
    """Return the status of a workload in a cluster, as the last pass knew it if that is silent."""
    found = reports.item(cluster)
    known = (found,) if found is not None else draft.status().aggregated
    return next((item.status for item in known if item.cluster == cluster), None)


def _preservation(
    around: Surroundings, rules: StateRules, status_of: StatusOf
) -> StatePreservation:
    """Return what a workload takes along by rules, nothing where that is switched off."""
    return StatePreservation(rules if around.failover.state_preservation else (), status_of)


def _evict(
    binding: Binding, spec: BindingSpec, status_of: StatusOf, around: Surroundings
) -> tuple[Binding, Eviction | None]:
    """Leave clusters whose NoExecute taints are not tolerated; clusters in order of name."""
    views = _tainted(binding, around.members) if around.failover.enabled else []
    if not views:
        return binding, None
    eviction = evict(
        binding,
        views,
        around.now,
        purge_mode=around.failover.purge_mode,
        default_toleration_seconds=around.failover.default_toleration_seconds,
        preservation=_preservation(around, cluster_state_rules(spec.failover), status_of),
    )
    return replace(binding, clusters=eviction.clusters, tasks=eviction.tasks), eviction


def _fail_over(
    binding: Binding,
    spec: BindingSpec,
    metadata: BindingMetadata,
    reports: Reports,
    status_of: StatusOf,
    around: Surroundings,
) -> tuple[Binding, Failing]:
    """Leave clusters that report the workload unhealthy, if its policy wants that."""
    behavior = decode_behavior(spec.failover)
    if behavior is None or not around.failover.enabled:
        return binding, Failing()
    unhealthy_since = metadata.note(UNHEALTHY_SINCE)
    preservation = _preservation(around, behavior.state_rules, status_of)
    failing = detect_failing(binding, behavior, reports, unhealthy_since, preservation, around.now)
    tasks = tuple(eviction_task(binding, behavior, *left) for left in failing.leaving.items())
    clusters = tuple(item for item in binding.clusters if item.name not in failing.leaving)
    return replace(binding, clusters=clusters, tasks=(*binding.tasks, *tasks)), failing


def _tainted(binding: Binding, members: Members) -> list[MemberCluster]:
    """Return the clusters that a binding is on and that have a NoExecute taint."""
    if not members.no_execute:
        return []
    mask = members.no_execute & members.fleet.named(name for name, _ in binding.clusters)
    return [members.views[position] for position in positions_of(Mask(mask))]


def _gather_reports(
    spec: BindingSpec,
    clusters: tuple[TargetCluster, ...],
    draft: Draft,
    reports: Reports,
    around: Surroundings,
) -> Feedback:
    """Gather the reports of the clusters that a binding is on, by itself or for others."""
    return gather(
        spec._replace(clusters=clusters).held_on,
        draft.metadata,
        reports,
        draft.status().aggregated,
        silence=around.silence,
        now=around.now,
    )


def _assess(
    binding: Binding,
    verdict: ScheduleVerdict | None,
    clusters: tuple[TargetCluster, ...],
    feedback: Feedback,
    around: Surroundings,
) -> GracefulEviction:
    """End the evictions that are done.

    The generations are those of the end of the chain: equal unless the scheduler failed.
    """
    if not binding.tasks:
        return GracefulEviction(tasks=())
    observed = _is_observed(verdict, binding)
    settled = replace(
        binding,
        clusters=clusters,
        generation=1,
        observed_generation=1 if observed else 0,
        health=feedback.health,
    )
    timeout = span(seconds=around.failover.eviction_timeout_seconds)
    return assess_tasks(settled, around.now, timeout=timeout, reported=feedback.reported)


def _is_observed(verdict: ScheduleVerdict | None, binding: Binding) -> bool:
    """Return whether the scheduler has seen the binding as this round leaves it."""
    if verdict is None:
        return binding.observed_generation == binding.generation
    return verdict.error is None
