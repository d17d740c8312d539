"""One binding in one round: evict, schedule, gather its reports, end evictions, and record it all.

The order is that in which upstream's controllers act on one another. What they would write one
after the other is written once, at the generation that their chain of events ends with.
"""

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.cluster_reports import Reports
from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.binding_part import DecidedBinding, part_of
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.graceful_eviction import GracefulEviction, assess_tasks
from reconciler.dialects.karmada.eviction.left_clusters import leave_clusters
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.dialects.karmada.scheduler.batched_moves import (
    BETWEEN,
    MOVING_TO,
    BatchedMove,
    clusters_between,
    move,
    read_goal,
    stay,
)
from reconciler.dialects.karmada.scheduler.failure import FailureKind
from reconciler.dialects.karmada.scheduler.reschedule_requests import RescheduleRequest, ask
from reconciler.dialects.karmada.scheduler.schedule import complaining, refused, schedule, with_room
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.surroundings import Surroundings
from reconciler.dialects.karmada.view.aggregated_status import Feedback, gather
from reconciler.dialects.karmada.within_room import goal_beyond_room
from reconciler.dialects.object_pass import Part
from reconciler.model.moments import span

BATCHED = frozenset((MOVING_TO, BETWEEN))
"""Annotations of bindings that batches move, or have left somewhere."""


def decide(draft: Draft, demand: Demand | None, around: Surroundings) -> Part:
    """Take one binding through a round.

    Args:
        draft: The binding as its workload and policy want it, with the decisions so far.
        demand: A rebalancer's trigger, `None` if there is none.
        around: The fleet, the settings, the moment.

    Raises:
        UserError: Something in the binding cannot be read.
    """
    return part_of(_decided(draft, demand, around), around)


def _decided(draft: Draft, demand: Demand | None, around: Surroundings) -> DecidedBinding:
    """Let the controllers act on a binding one after the other."""
    denied = around.refusal(draft.key.namespace, draft.stood, draft.spec)
    if denied:  # the requests have grown where the binding is: its spec stays as a whole
        draft = draft._replace(spec=draft.stood._replace(components=()))
    if BATCHED.isdisjoint(draft.metadata.annotations):
        asked = ask(draft, demand, around.now)
    else:
        draft, asked = _ask_batched(draft, demand, around)
    reports = Reports(asked.spec.resource.key, around.copies, around.silence.is_written)
    left = leave_clusters(draft, asked.spec, asked.binding, reports, around)
    room = around.room_of(draft)
    verdict, moved = _choose(draft, asked, left.binding, demand, around, room)
    if verdict is not None:
        verdict = complaining(verdict, denied) if denied else with_room(verdict, asked.status)
    spec = asked.spec._replace(clusters=moved.clusters)
    feedback = gather(
        spec.held_on,
        draft.metadata,
        reports,
        asked.status.aggregated,
        silence=around.silence,
        now=around.now,
    )
    graceful = _assess(left.binding, verdict, moved.clusters, feedback, around)
    return DecidedBinding(
        draft=draft,
        demand=demand,
        asked=asked,
        left=left,
        room=room,
        verdict=verdict,
        moved=moved,
        spec=spec._replace(tasks=graceful.tasks),
        feedback=feedback,
        graceful=graceful,
    )


def _ask_batched(
    draft: Draft, demand: Demand | None, around: Surroundings
) -> tuple[Draft, RescheduleRequest]:
    """Return a binding that batches have moved, without the goal if nobody asks for it any more."""
    has_goal = read_goal(draft.metadata) is not None
    withdrawn = has_goal and demand is None and not around.is_batched(draft.key)
    if withdrawn:
        kept = {k: v for k, v in draft.metadata.annotations.items() if k != MOVING_TO}
        draft = draft._replace(metadata=draft.metadata._replace(annotations=kept))
    asked = ask(draft, demand, around.now)
    between = clusters_between(draft.metadata, asked.binding, around.members, withdrawn=withdrawn)
    return draft, asked._replace(binding=asked.binding._replace(between=between))


def _choose(
    draft: Draft,
    asked: RescheduleRequest,
    binding: Binding,
    demand: Demand | None,
    around: Surroundings,
    room: BindingRoom | None,
) -> tuple[ScheduleVerdict | None, BatchedMove]:
    """Return what the scheduler says, if it looks, and where that brings the binding."""
    verdict = _schedule(binding, around, room) if asked.considered else None
    goal = read_goal(draft.metadata)
    moved = move(binding, verdict, goal, demand, around.members, around.now)
    if verdict is None:
        return None, moved
    verdict, moved = _within_room(draft, binding, verdict, moved, demand, around)
    return _within_quotas(draft, binding, verdict, moved, demand, around)


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
