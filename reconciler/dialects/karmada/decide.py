"""One binding in one round: evict, schedule, gather its reports, end evictions, and record it all.

The order is that in which upstream's controllers act on one another. What they would write one
after the other is written once, at the generation that their chain of events ends with.
"""

from functools import partial

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.cluster_reports import Reports
from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.placement import scored_resources
from reconciler.dialects.karmada.api.work.hub_marks import kept_marks
from reconciler.dialects.karmada.binding.merged_targets import kept_clusters
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.application_failover import (
    UNHEALTHY_SINCE,
)
from reconciler.dialects.karmada.eviction.graceful_eviction import GracefulEviction, assess_tasks
from reconciler.dialects.karmada.eviction.left_clusters import leave_clusters
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.dialects.karmada.scheduler.batched_moves import (
    MOVING_TO,
    BatchedMove,
    blocked_by_eviction,
    move,
    read_goal,
    stay,
    write_goal,
)
from reconciler.dialects.karmada.scheduler.failure import FailureKind
from reconciler.dialects.karmada.scheduler.reschedule_requests import ask
from reconciler.dialects.karmada.scheduler.schedule import complaining, refused, schedule, with_room
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.surroundings import Surroundings
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
from reconciler.dialects.karmada.within_room import goal_beyond_room
from reconciler.dialects.object_pass import Part
from reconciler.dialects.scores.reports import expires_at
from reconciler.model.moments import earliest, span
from reconciler.rebalance.target import MetDemand

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
        draft = draft._replace(spec=draft.stood._replace(components=()))
    asked = ask(draft, demand, around.now)
    spec, binding = asked.spec, asked.binding
    before = draft.stood.placed
    reports = Reports(spec.resource.key, around.copies, around.silence.is_written)
    binding, eviction, failing = leave_clusters(draft, spec, binding, reports, around)
    goal = read_goal(draft.metadata)
    room = around.room_of(draft)
    verdict = _schedule(binding, around, room) if asked.considered else None
    moved = move(binding, verdict, goal, demand, around.members, around.now)
    if verdict is not None:
        verdict, moved = _within_room(draft, binding, verdict, moved, demand, around)
        verdict, moved = _within_quotas(draft, binding, verdict, moved, demand, around)
        verdict = complaining(verdict, denied) if denied else with_room(verdict, asked.status)
    clusters = moved.clusters
    spec = spec._replace(clusters=clusters)
    feedback = gather(
        spec.held_on,
        draft.metadata,
        reports,
        asked.status.aggregated,
        silence=around.silence,
        now=around.now,
    )
    graceful = _assess(binding, verdict, clusters, feedback, around)
    spec = spec._replace(tasks=graceful.tasks)
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
    looked = verdict is not None and verdict.trigger not in LEFT_ALONE
    scored = scored_resources(spec.placement) if looked else frozenset()
    note = blocked_by_eviction(binding, verdict, around.members, around.now) if rescheduled else ""
    happened = Happened(
        demand=demand if rescheduled else None,
        note=note,
        asked=asked,
        eviction=eviction,
        failing=failing,
        verdict=verdict,
        edited=is_edited(draft.metadata, before, draft.resource),
        spec=spec,
        protected=room is not None,
    )
    return Part(
        outputs={draft.key: body},
        decision=decision_on(draft, before, after, happened, around.members, around.now),
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
            expires_at(scored, around.members.scores, around.now),
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
            room=room,
        ),
        local=moved.goal is None and not looked,
        scored=scored,
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


def _within_room(
    draft: Draft,
    binding: Binding,
    verdict: ScheduleVerdict,
    moved: BatchedMove,
    demand: Demand | None,
    around: Surroundings,
) -> tuple[ScheduleVerdict, BatchedMove]:
    """Return what becomes of a step to an earlier goal, for which there may be no room by now."""
    room = around.room_of(draft) if moved.followed else None
    if room is None:
        return verdict, moved
    short = goal_beyond_room(moved.clusters, binding, room)
    if not short:
        return verdict, moved
    verdict = refused(verdict, binding, short, around.members, kind=FailureKind.UNSCHEDULABLE)
    return verdict, stay(binding, verdict, read_goal(draft.metadata), demand)


def _schedule(binding: Binding, around: Surroundings, room: BindingRoom | None) -> ScheduleVerdict:
    """Return what the scheduler decides on a binding."""
    return schedule(
        binding,
        around.members,
        around.now,
        propagate_empty=around.propagate_empty,
        room=room,
    )


def _has_happened(demand: Demand, verdict: ScheduleVerdict | None, moved: BatchedMove) -> bool:
    """Return whether the scheduler did what a rebalancer demanded, whatever came of it."""
    return moved.followed if not demand.fresh else verdict is not None and verdict.triggered


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
    settled = binding._replace(
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
