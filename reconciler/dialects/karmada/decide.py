"""One binding in one round: evict, schedule, gather its reports, end evictions, and record it all.

The order is that in which upstream's controllers act on one another. What they would write one
after the other is written once, at the generation that their chain of events ends with.

A binding leaves clusters for taints first, then for reports of ill health. The result of a round is
the file of the binding, a decision, faults, and what the binding waits for.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.inventory import CopyReports, Earlier
from reconciler.dialects.karmada.api.binding import Binding, BindingMetadata
from reconciler.dialects.karmada.api.binding_spec import (
    BindingSpec,
    StateRules,
    cluster_state_rules,
    decode_behavior,
    new_task,
    placed_on,
    plain_task,
    requests_of,
)
from reconciler.dialects.karmada.api.cluster import MemberCluster, Members, TargetCluster
from reconciler.dialects.karmada.api.names import Failover
from reconciler.dialects.karmada.api.placement import scored_resources
from reconciler.dialects.karmada.api.work import BindingReports as Reports
from reconciler.dialects.karmada.api.work import kept_marks
from reconciler.dialects.karmada.binding.works import kept_clusters
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction import (
    UNHEALTHY_SINCE,
    Eviction,
    Failing,
    GracefulEviction,
    StatePreservation,
    StatusOf,
    assess_tasks,
    detect_failing,
    evict,
    eviction_task,
    keep_unreplaced,
)
from reconciler.dialects.karmada.quotas import Refusal, nothing_refused
from reconciler.dialects.karmada.scheduler.plugins import FailureKind
from reconciler.dialects.karmada.scheduler.reschedule import (
    BETWEEN,
    MOVING_TO,
    BatchedMove,
    RescheduleRequest,
    SurgeState,
    ask,
    blocked_by_eviction,
    clusters_between,
    is_divisible,
    is_reschedulable,
    keep_what_runs,
    move,
    move_beside,
    read_goal,
    stay,
    why_not_made,
    write_between,
    write_goal,
)
from reconciler.dialects.karmada.scheduler.room import BindingRoom, ProtectedFleet
from reconciler.dialects.karmada.scheduler.schedule import (
    DECIDED_ANEW,
    ScheduleVerdict,
    complaining,
    goal_beyond_room,
    refused,
    schedule,
    with_room,
)
from reconciler.dialects.karmada.view.aggregated_status import Feedback, gather
from reconciler.dialects.karmada.view.binding_file import (
    DECISION_DIGEST,
    binding_file,
    digest_of,
    is_edited,
    unpreserved_faults,
)
from reconciler.dialects.karmada.view.record import (
    LEFT_ALONE,
    Happened,
    decision_on,
    explain,
    waits_of,
)
from reconciler.dialects.object_pass import Part
from reconciler.dialects.scores import Reports as ScoreReports
from reconciler.dialects.scores import expires_at
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.health import Health
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import add, earliest, span
from reconciler.model.quantity import decode_resources
from reconciler.model.records import dataclass
from reconciler.rebalance.surge import SURGE, Surge, encode_surge
from reconciler.rebalance.target import LAST_MOVE, MetDemand, write_last_move
from reconciler.schedule.framework import Mask, positions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all bindings of a round share.

    `propagate_empty` keeps selected clusters that get no replica. `clusters_before` has the fleet
    of the last pass, `None` if it is the same; only what is told of causes depends on it. `refusal`
    says whether quotas take a change, `refusal_before` whether those of the last pass would have,
    `None` if they are the same. `batched` are the bindings that a limited rebalance is moving,
    `None` where that is not known. `scores_before` are the scores of the last pass. `rooms` is what
    is free, `None` where no room is protected.
    `unschedulable_after` is after how many seconds a replica counts as unschedulable, `None` where
    no rebalance may keep what runs.
    `path_of` returns where the file of a binding stands.
    """

    members: Members
    failover: Failover
    propagate_empty: bool
    copies: CopyReports
    assume_after_seconds: int | None
    now: datetime
    path_of: Callable[[ObjectKey], str]
    clusters_before: Earlier[Members] | None = None
    refusal: Refusal = nothing_refused
    refusal_before: Earlier[Refusal] | None = None
    scores_before: Earlier[ScoreReports] | None = None
    rooms: ProtectedFleet | None = None
    batched: frozenset[ObjectKey] | None = None
    unschedulable_after: int | None = None

    def is_batched(self, binding: ObjectKey) -> bool:
        """Return whether a limited rebalance may still move a binding."""
        return self.batched is None or binding in self.batched

    def room_of(self, draft: Draft) -> BindingRoom | None:
        """Return what is free for a binding, `None` where no room is protected.

        Raises:
            UserError: What one replica asked for so far is no quantity.
        """
        if self.rooms is None:
            return None
        return BindingRoom(
            fleet=self.rooms.at(self.members),
            holder=draft.key,
            stood=dict(draft.stood.copies),
            request=decode_resources(requests_of(draft.stood)),
        )


class LeftClusters(NamedTuple):
    """A binding after that, what its taints did, `None` if there are none, and its reports."""

    binding: Binding
    eviction: Eviction | None
    failing: Failing


def leave_clusters(
    draft: Draft, spec: BindingSpec, binding: Binding, reports: Reports, around: Surroundings
) -> LeftClusters:
    """Turn clusters that a binding must leave into eviction tasks.

    Args:
        draft: Of the binding, with what stood there.
        spec: What it asks for now.
        binding: As its controllers read it.
        reports: What its clusters say.
        around: What all bindings of the round share.
    """
    status_of = partial(_status_in, reports, draft)
    binding, eviction = _evict(binding, spec, status_of, around)
    binding, failing = _fail_over(binding, spec, draft.metadata, reports, status_of, around)
    return LeftClusters(binding, eviction, failing)


def _evict(
    binding: Binding, spec: BindingSpec, status_of: StatusOf, around: Surroundings
) -> tuple[Binding, Eviction | None]:
    """Leave clusters whose NoExecute taints are not tolerated; clusters in order of name."""
    views = _tainted(binding.clusters, around.members) if around.failover.enabled else []
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
    return binding._replace(clusters=eviction.clusters, tasks=eviction.tasks), eviction


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
    return binding._replace(clusters=clusters, tasks=(*binding.tasks, *tasks)), failing


def _tainted(clusters: tuple[TargetCluster, ...], members: Members) -> list[MemberCluster]:
    """Return the clusters that a binding is on and that have a NoExecute taint."""
    if not members.no_execute:
        return []
    mask = members.no_execute & members.fleet.named(name for name, _ in clusters)
    return [members.views[position] for position in positions_of(Mask(mask))]


def _status_in(reports: Reports, draft: Draft, cluster: ClusterName) -> Body | None:
    """Return the status of a workload in a cluster, as the last pass knew it if that is silent."""
    report = reports.item(cluster)
    known = (report,) if report is not None else draft.status().aggregated
    return next((item.status for item in known if item.cluster == cluster), None)


def _preservation(
    around: Surroundings, rules: StateRules, status_of: StatusOf
) -> StatePreservation:
    """Return what a workload takes along by rules, nothing where that is switched off."""
    return StatePreservation(rules if around.failover.state_preservation else (), status_of)


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
    step, moved = found.moved.step, found.moved
    before, after = draft.stood.placed, found.spec.placed
    happened = _happened(found, before, around)
    scored = scored_resources(found.spec.placement) if found.was_scheduled else frozenset()
    outputs = {draft.key: _file(found, after, around)}
    return Part(
        outputs=outputs,
        decision=decision_on(draft, before, after, happened, around.members, around.now),
        edited=(draft.key,) if happened.edited or found.asked.by_hand else (),
        faults=tuple(unpreserved_faults(draft, around.path_of, eviction, failing)),
        rescheduled=happened.demand is not None
        or bool(moved.given_up)
        or (step is not None and step.is_taken),
        met=MetDemand(
            moved.left,
            happened.note,
            taken=0 if step is None else sum(step.taken.values()),
            given_up=moved.given_up,
        ),
        until=earliest(_until(found), expires_at(scored, around.members.scores, around.now)),
        waits=waits_of(draft, after, eviction, failing, found.graceful.ends, moved.surge),
        explain=partial(
            explain,
            draft,
            binding,
            found.verdict,
            around.members,
            around.now,
            propagate_empty=around.propagate_empty,
            room=found.room,
            leaving=_left_for(found.demand, binding),
        ),
        local=found.moved.goal is None and not found.was_scheduled,
        scored=scored,
        again=_once_written(found, outputs, scored, around) if draft.present is None else None,
    )


def _once_written(
    found: DecidedBinding,
    outputs: Mapping[ObjectKey, Body],
    scored: frozenset[str],
    around: Surroundings,
) -> Part | None:
    """Return the part of a new binding once its file is there, `None` if only a look tells.

    A binding reads its own file, so what it was decided may lead on to something else. Nothing does
    where no rebalancer, quota, protected room, batch, taint or report has a say, and all that was
    asked for has room: then the scheduler leaves a divided workload alone. One that is not
    divided it looks at in each round; without spread constraints and groups of clusters in turn it
    takes all that are feasible, as before.
    """
    verdict, binding, placement = found.verdict, found.left.binding, found.left.binding.placement
    alone = (
        found.demand is None
        and around.refusal is nothing_refused
        and found.room is None
        and found.moved == BatchedMove(found.moved.clusters)
        and not _tainted(found.moved.clusters, around.members)
        and found.left.failing == Failing()
        and not found.spec.tasks
        and not found.feedback.reported
        and not found.asked.recorded
    )
    if not alone or verdict is None or placement is None or verdict.error is not None:
        return None
    if not verdict.scheduled or verdict.problem or placement.cluster_affinities:
        return None
    if binding.is_workload and not placement.duplicated:
        if sum(replicas for _, replicas in found.moved.clusters) != binding.replicas:
            return None
        return Part(outputs, local=True)
    if placement.spread_constraints:
        return None
    until = expires_at(scored, around.members.scores, around.now)
    return Part(outputs, until=until, scored=scored)


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
            SURGE: encode_surge(found.moved.surge),
            LAST_MOVE: _last_move(found, after, around),
            DECISION_DIGEST: digest_of(after, draft.resource),
            **kept_marks(draft.metadata, partial(kept_clusters, spec)),
        },
    )


def _last_move(found: DecidedBinding, after: Placed, around: Surroundings) -> str:
    """Return the annotation of the last move with a rest: the one of this pass, or one before."""
    demand, goal = found.demand, found.moved.goal
    made = ""
    if demand is not None and demand.fresh and _is_met(demand, found.verdict, found.moved):
        going = after if goal is None else placed_on(goal)
        before = found.draft.stood.placed
        made = write_last_move(demand.rest_seconds, demand.by, before, going, around.now)
    return made or found.draft.metadata.note(LAST_MOVE)


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
        moved=found.moved,
        kept=found.graceful.kept,
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
        None if found.moved.step is None else found.moved.step.until,
        None if eviction is None else eviction.until,
    )


def _is_met(demand: Demand, verdict: ScheduleVerdict | None, moved: BatchedMove) -> bool:
    """Return whether the scheduler did what a rebalancer demanded, whatever came of it."""
    return moved.followed if not demand.fresh else verdict is not None and verdict.triggered


BATCHED = frozenset((MOVING_TO, BETWEEN, SURGE))
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
    stood = draft
    denied = around.refusal(draft.key.namespace, draft.stood, draft.spec)
    if denied:  # the requests have grown where the binding is: its spec stays as a whole
        draft = draft._replace(spec=draft.stood._replace(components=()))
    if BATCHED.isdisjoint(draft.metadata.annotations):
        asked = ask(draft, demand, around.now)
    else:
        draft, asked = _ask_batched(draft, demand, around)
    reports = Reports(asked.spec.resource.key, around.copies)
    left = leave_clusters(draft, asked.spec, asked.binding, reports, around)
    room = around.room_of(draft)
    verdict, moved = _choose(draft, asked, left.binding, demand, around, room, stood, reports)
    if moved.unmade:
        part = _decided(stood, None, around)
        return part._replace(moved=part.moved._replace(given_up=moved.unmade))
    if verdict is not None:
        verdict = complaining(verdict, denied) if denied else with_room(verdict, asked.status)
    spec = asked.spec._replace(clusters=moved.clusters, surge=moved.surge)
    feedback = gather(
        spec.held_on,
        draft.metadata,
        reports,
        asked.status.aggregated,
        assume_after_seconds=around.assume_after_seconds,
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
    """Return a binding that batches have moved, without the goal if nobody asks for it any more.

    Where nothing may break, what stands between two groups counts as of its group at once: scaling
    would take it away before the rest is ready.
    """
    has_goal = read_goal(draft.metadata) is not None
    withdrawn = has_goal and demand is None and not around.is_batched(draft.key)
    if withdrawn:
        kept = {k: v for k, v in draft.metadata.annotations.items() if k != MOVING_TO}
        draft = draft._replace(metadata=draft.metadata._replace(annotations=kept))
    asked = ask(draft, demand, around.now)
    stands = withdrawn or draft.stood.surge is not None
    between = clusters_between(draft.metadata, asked.binding, around.members, stands=stands)
    return draft, asked._replace(binding=asked.binding._replace(between=between))


def _choose(
    draft: Draft,
    asked: RescheduleRequest,
    binding: Binding,
    demand: Demand | None,
    around: Surroundings,
    room: BindingRoom | None,
    stood: Draft,
    reports: Reports,
) -> tuple[ScheduleVerdict | None, BatchedMove]:
    """Return what the scheduler says, if it looks, and where that brings the binding.

    `stood` is the binding with a goal that is given up in this pass.
    """
    if demand is not None and demand.preserves:
        return _keep(draft, binding, demand, around, reports)
    asking = _leaving(_with_recovered(binding, around), demand)
    verdict = _schedule(asking, around, room) if asked.considered else None
    unmade = "" if demand is None else why_not_made(binding, verdict, demand)
    if unmade:
        return verdict, BatchedMove(binding.clusters, unmade=unmade)
    surge = draft.stood.surge
    if surge is None:
        goal = read_goal(draft.metadata)
        moved = move(binding, verdict, goal, demand, around.members, around.now)
    else:
        moved = move_beside(
            binding,
            verdict,
            read_goal(stood.metadata),
            demand,
            around.members,
            around.now,
            surge=surge,
            state=_step_state(draft, stood, surge, reports),
        )
        if read_goal(draft.metadata) is None:  # it is withdrawn
            moved = moved._replace(goal=None)
    if verdict is not None and moved.group is not None:
        verdict = verdict._replace(observed_affinity=moved.group)
    if verdict is None or (moved.step is not None and not moved.begun and not verdict.triggered):
        return verdict, moved
    begun = moved.begun
    verdict, moved = _within_room(draft, binding, verdict, moved, demand, around)
    verdict, moved = _within_quotas(draft, binding, verdict, moved, demand, around)
    if begun and not moved.begun and demand is not None and demand.fresh:
        moved = BatchedMove(binding.clusters, unmade=verdict.problem)
    return verdict, moved


def _leaving(binding: Binding, demand: Demand | None) -> Binding:
    """Return a binding as if the clusters were evicted from that a rebalance wants left.

    So none of them is chosen, though a taint does not count where a binding is already.
    """
    if demand is None or demand.surge is None or not demand.fresh:
        return binding
    evicted = (
        new_task(name, purge_mode="", replicas=0, reason="", producer="")
        for name in sorted(demand.surge.leaving)
    )
    return binding._replace(tasks=(*binding.tasks, *evicted))


def _left_for(demand: Demand | None, binding: Binding) -> Mapping[ClusterName, str]:
    """Return the clusters that a rebalance wants left and nothing else does, with who asks."""
    if demand is None or demand.surge is None:
        return {}
    evicted = {task.from_cluster for task in binding.tasks}
    return dict.fromkeys(sorted(demand.surge.leaving - evicted), demand.by)


def _keep(
    draft: Draft, binding: Binding, demand: Demand, around: Surroundings, reports: Reports
) -> tuple[ScheduleVerdict, BatchedMove]:
    """Return what becomes of a binding of which only what cannot be scheduled may move."""
    stuck = stuck_replicas(binding, reports, around)
    verdict, why = keep_what_runs(binding, stuck, around.members, around.now)
    if why:
        return verdict, BatchedMove(binding.clusters, unmade=why)
    moved = move(binding, verdict, None, demand, around.members, around.now)
    verdict, moved = _within_quotas(draft, binding, verdict, moved, demand, around)
    return verdict, moved._replace(unmade="" if verdict.error is None else verdict.problem)


def stuck_replicas(
    binding: Binding, reports: Reports, around: Surroundings
) -> dict[ClusterName, int]:
    """Return how many replicas cannot be scheduled for long enough, by cluster that says so."""
    before = add(around.now, span(seconds=-(around.unschedulable_after or 0)))
    stuck = ((name, reports.unschedulable(name, before)) for name, _ in binding.clusters)
    return {name: count for name, count in stuck if count is not None}


def _step_state(draft: Draft, stood: Draft, surge: Surge, reports: Reports) -> SurgeState:
    """Return how the step of a binding stands.

    What people changed under it gives back what is not ready; so does a rebalance that is
    withdrawn. Nothing is taken of a binding that our scheduler is to leave alone.
    """
    had, wants = stood.stood, stood.spec
    changed = (had.replicas, had.requirements, had.placement) != (
        wants.replicas,
        wants.requirements,
        wants.placement,
    )
    edited = is_edited(stood.metadata, had.placed, stood.resource)
    withdrawn = read_goal(draft.metadata) is None
    active = is_reschedulable(stood)
    counts = reports.counts_replicas

    def ready(cluster: ClusterName, replicas: int) -> bool:
        step = surge.step_on(cluster)
        if not counts:
            return active and reports.has_applied(cluster, step)
        return active and reports.has_made(cluster, replicas, step)

    return SurgeState(ready, interrupted=changed or edited or withdrawn)


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
    if moved.clusters == binding.clusters and not moved.begun:
        return verdict, moved
    wanted = draft.spec._replace(clusters=moved.clusters, surge=moved.surge)
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
    short = goal_beyond_room(moved.copies, binding, room)
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
    chosen = {name for name, _ in clusters}
    tasks = tuple(one for one in binding.tasks if not (one.kept and one.from_cluster in chosen))
    settled = binding._replace(
        tasks=tuple(map(plain_task, tasks)),
        clusters=clusters,
        generation=1,
        observed_generation=1 if observed else 0,
        health=feedback.health,
    )
    timeout = span(seconds=around.failover.eviction_timeout_seconds)
    assessed = assess_tasks(settled, around.now, timeout=timeout, reported=feedback.reported)
    if not around.failover.keep_without_replacement or binding.deleting:
        return assessed
    arrived = all(feedback.health.get(name) == Health.HEALTHY for name in chosen)
    return keep_unreplaced(tasks, assessed, _missing(settled), arrived=arrived)


def _missing(binding: Binding) -> int | None:
    """Return how many replicas have no place, `None` if a workload is on no cluster at all."""
    if is_divisible(binding):
        return max(0, binding.replicas - sum(count for _, count in binding.clusters))
    wants_none = binding.is_workload and not binding.replicas
    return 0 if binding.clusters or wants_none else None


def _with_recovered(binding: Binding, around: Surroundings) -> Binding:
    """Return a binding that may go back to where its copy was kept, once nothing drives it out.

    There is no better place for what found no other.
    """
    if not any(task.kept for task in binding.tasks):
        return binding
    members = around.members
    driven = members.no_execute | members.fleet.deleting
    out = {members.fleet.names[position] for position in positions_of(Mask(driven))}
    tasks = (one for one in binding.tasks if not one.kept or one.from_cluster in out)
    return binding._replace(tasks=tuple(tasks))


def _is_observed(verdict: ScheduleVerdict | None, binding: Binding) -> bool:
    """Return whether the scheduler has seen the binding as this round leaves it."""
    if verdict is None:
        return binding.observed_generation == binding.generation
    return verdict.error is None
