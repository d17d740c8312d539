"""What a round does with a binding and tells of it: its file, a decision, faults, and waits."""

from datetime import datetime
from functools import partial
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.placement import scored_resources
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.hub_marks import kept_marks
from reconciler.dialects.karmada.binding.merged_targets import kept_clusters
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.application_failover import (
    UNHEALTHY_SINCE,
)
from reconciler.dialects.karmada.eviction.graceful_eviction import GracefulEviction
from reconciler.dialects.karmada.eviction.left_clusters import LeftClusters
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.dialects.karmada.scheduler.batched_moves import (
    BETWEEN,
    MOVING_TO,
    BatchedMove,
    blocked_by_eviction,
    write_between,
    write_goal,
)
from reconciler.dialects.karmada.scheduler.reschedule_requests import RescheduleRequest
from reconciler.dialects.karmada.scheduler.schedule import DECIDED_ANEW
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.surroundings import Surroundings
from reconciler.dialects.karmada.view.aggregated_status import Feedback
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
from reconciler.dialects.scores.reports import expires_at
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName
from reconciler.model.moments import earliest
from reconciler.rebalance.target import MetDemand

LEFT_ALONE = frozenset({ScheduleReason.NONE, ScheduleReason.DELETING})


class DecidedBinding(NamedTuple):
    """A binding after its round, with all that led there.

    Attributes:
        draft: As its workload and policy want it, as far as quotas take that.
        demand: A rebalancer's trigger, `None` if there is none.
        asked: The same as the scheduler got it.
        left: What became of it by evictions.
        room: What is free for it, `None` where no room is protected.
        verdict: What the scheduler said, `None` if it did not look.
        moved: Where it is, and where it is going.
        spec: What is written.
        feedback: What is known of its clusters.
        graceful: Its evictions.
    """

    draft: Draft
    demand: Demand | None
    asked: RescheduleRequest
    left: LeftClusters
    room: BindingRoom | None
    verdict: ScheduleVerdict | None
    moved: BatchedMove
    spec: BindingSpec
    feedback: Feedback
    graceful: GracefulEviction

    @property
    def between(self) -> tuple[ClusterName, ...]:
        """The clusters outside of its affinity group that count as of it, unless it was moved."""
        verdict = self.verdict
        if verdict is not None and verdict.scheduled and verdict.trigger in DECIDED_ANEW:
            return ()
        return self.asked.binding.between

    @property
    def was_scheduled(self) -> bool:
        """Whether the scheduler had a reason to choose clusters, whatever came of it."""
        return self.verdict is not None and self.verdict.trigger not in LEFT_ALONE


def part_of(found: DecidedBinding, around: Surroundings) -> Part:
    """Return what a round does with a binding, and what it tells.

    Args:
        found: The binding after its round.
        around: The fleet, the settings, the moment.
    """
    draft, (binding, eviction, failing) = found.draft, found.left
    before, after = draft.stood.placed, found.spec.placed
    happened = _happened(found, before, around)
    scored = scored_resources(found.spec.placement) if found.was_scheduled else frozenset()
    return Part(
        outputs={draft.key: _file(found, after, around)},
        decision=decision_on(draft, before, after, happened, around.members, around.now),
        edited=(draft.key,) if happened.edited or found.asked.by_hand else (),
        faults=tuple(unpreserved_faults(draft, around.path_of, eviction, failing)),
        rescheduled=happened.demand is not None,
        met=MetDemand(found.moved.left, happened.note),
        until=earliest(_until(found), expires_at(scored, around.members.scores, around.now)),
        waits=waits_of(draft, after, eviction, failing, found.graceful.ends),
        explain=partial(
            explain,
            draft,
            binding,
            found.verdict,
            around.members,
            around.now,
            propagate_empty=around.propagate_empty,
            room=found.room,
        ),
        local=found.moved.goal is None and not found.was_scheduled,
        scored=scored,
    )


def _file(found: DecidedBinding, after: Placed, around: Surroundings) -> Body:
    """Return the file of a binding."""
    draft, spec = found.draft, found.spec
    return binding_file(
        draft,
        spec,
        found.asked.status,
        found.left.binding,
        found.verdict,
        found.feedback,
        around.now,
        notes={
            UNHEALTHY_SINCE: found.left.failing.since,
            MOVING_TO: write_goal(found.moved.goal),
            BETWEEN: write_between(found.between, found.moved.clusters),
            DECISION_DIGEST: digest_of(after, draft.resource),
            **kept_marks(draft.metadata, partial(kept_clusters, spec)),
        },
    )


def _happened(found: DecidedBinding, before: Placed, around: Surroundings) -> Happened:
    """Return what may have moved a binding; a demand counts if the scheduler did as it says."""
    draft, demand = found.draft, found.demand
    met = demand if demand is not None and _is_met(demand, found.verdict, found.moved) else None
    binding, verdict = found.left.binding, found.verdict
    note = "" if met is None else blocked_by_eviction(binding, verdict, around.members, around.now)
    return Happened(
        demand=met,
        note=note,
        asked=found.asked,
        eviction=found.left.eviction,
        failing=found.left.failing,
        verdict=verdict,
        edited=is_edited(draft.metadata, before, draft.resource),
        spec=found.spec,
        protected=found.room is not None,
    )


def _until(found: DecidedBinding) -> datetime | None:
    """Return when time alone may change what a round did, scores aside; `None` if never."""
    feedback, graceful, eviction = found.feedback, found.graceful, found.left.eviction
    return earliest(
        feedback.until,
        feedback.assumed_at if graceful.awaits_health else None,
        graceful.until,
        found.left.failing.until,
        None if eviction is None else eviction.until,
    )


def _is_met(demand: Demand, verdict: ScheduleVerdict | None, moved: BatchedMove) -> bool:
    """Return whether the scheduler did what a rebalancer demanded, whatever came of it."""
    return moved.followed if not demand.fresh else verdict is not None and verdict.triggered
