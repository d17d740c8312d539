"""Rescheduling: who asks for it, and how a binding moves to the new division in batches.

A rebalancer asks, or a person who edited `rescheduleTriggeredAt`.

With batches the goal stands in an annotation until it is reached. Whatever reschedules the binding
meanwhile takes over: then there is no goal any more. Nor is there one once the rebalancer is
withdrawn. The binding may then be between two affinity groups, in the first of which the scheduler
looks from now on: clusters outside of it count as of it until the binding is scheduled afresh, or
its placement changes, so that scaling moves nothing that stays.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.binding import (
    Binding,
    BindingMetadata,
    BindingStatus,
    binding_of,
)
from reconciler.dialects.karmada.api.binding_spec import (
    BindingSpec,
    copies_of,
    keeping_reschedule,
)
from reconciler.dialects.karmada.api.cluster import Members, TargetCluster
from reconciler.dialects.karmada.api.placement import applied_placement, is_readable
from reconciler.dialects.karmada.api.policy import DEFAULT_SCHEDULER
from reconciler.dialects.karmada.detector.binding_draft import Draft, binding_key
from reconciler.dialects.karmada.scheduler.divide import DivisionStrategy, strategy_of
from reconciler.dialects.karmada.scheduler.schedule import (
    ScheduleReason,
    ScheduleVerdict,
    feasible_now,
    schedule,
)
from reconciler.manifests.admission import read_note, write_note
from reconciler.model.body import Body
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import add, format_moment, span
from reconciler.model.records import replace
from reconciler.rebalance.surge import Ready, StepResult, Surge, begin, displace, go_on
from reconciler.schedule.framework import NO_CLUSTERS, Mask


class RescheduleRequest(NamedTuple):
    """A binding as the scheduler gets it.

    Attributes:
        spec: With the trigger that counts.
        status: As the last pass left it.
        binding: Both, as the scheduler reads them.
        considered: Whether our scheduler looks at it at all.
        recorded: Whether no policy claims it, so that the placement of its binding counts.
        by_hand: Whether a person asks, by an edit of `rescheduleTriggeredAt`.
        again: Whether an earlier trigger is tried again, since scheduling failed.
    """

    spec: BindingSpec
    status: BindingStatus
    binding: Binding
    considered: bool
    recorded: bool = False
    by_hand: bool = False
    again: bool = False


def ask(draft: Draft, demand: Demand | None, now: datetime) -> RescheduleRequest:
    """Return a binding with its trigger.

    Args:
        draft: The binding as its workload and policy want it.
        demand: A rebalancer's trigger, `None` without one.
        now: Moment of the pass.

    Raises:
        UserError: Something in the binding cannot be read.
    """
    spec, status, considered = draft.spec, draft.status(), is_considered(draft)
    if demand is not None and demand.preserves and is_reschedulable(draft):
        binding = decoded(draft, spec, status)
        spec = spec._replace(reschedule=keeping_reschedule(demand.at))
        return RescheduleRequest(spec, status, binding, considered=True, recorded=not considered)
    if demand is not None and is_reschedulable(draft):
        spec = spec._replace(reschedule_triggered_at=format_moment(demand.at))
        binding = decoded(draft, spec, status)
        afresh = asked_afresh(binding, demand.at) if demand.fresh else binding
        return RescheduleRequest(
            spec=spec, status=status, binding=afresh, considered=True, recorded=not considered
        )
    binding = decoded(draft, spec, status)
    if not considered:
        return RescheduleRequest(spec=spec, status=status, binding=binding, considered=False)
    triggered = binding.reschedule_triggered_at
    if triggered is not None and triggered > now:
        # Unlike upstream: a trigger in the future would be consumed by no scheduling before it.
        # Only a person can have written it; they ask once, now.
        spec = spec._replace(reschedule_triggered_at=format_moment(now))
        binding = binding._replace(reschedule_triggered_at=now)
    failed = bool(known_problem(status))
    return RescheduleRequest(
        spec=spec,
        status=status,
        binding=binding,
        considered=True,
        by_hand=binding.reschedule_required and not failed,
        again=binding.reschedule_required and failed,
    )


def asked_afresh(binding: Binding, at: datetime) -> Binding:
    """Return a binding with a trigger that counts, whatever its last scheduling is dated with.

    Unlike upstream: what has replicas on clusters but no date of a scheduling is scheduled afresh,
    too; upstream takes no notice of the trigger then.
    """
    last, before = binding.last_scheduled_time, add(at, span(seconds=-1))
    if last is None and not binding.clusters and (binding.replicas or not binding.is_workload):
        scheduled = None  # its first scheduling, which disregards nothing
    else:
        scheduled = before if last is None else min(last, before)
    return binding._replace(reschedule_triggered_at=at, last_scheduled_time=scheduled)


def is_considered(draft: Draft) -> bool:
    """Return whether our scheduler looks at a binding at all.

    Source: karmada@f8fdd02 pkg/scheduler/event_handler.go `resourceBindingEventFilter`.
    """
    return draft.policy is not None and _is_ours(draft)


def is_reschedulable(draft: Draft) -> bool:
    """Return whether our scheduler looks at a binding if a rebalancer asks for it.

    Unlike upstream: where no policy claims it any more, the placement of the binding counts, as the
    proposal of WorkloadRebalancer has it; upstream's event filter passes over it. Scaling and
    evictions do not have it scheduled, as upstream.
    """
    claimed = draft.policy is not None or draft.spec.placement is not None
    return claimed and _is_ours(draft)


def scheduler_of(draft: Draft) -> str:
    """Return whose scheduler a binding is for."""
    return draft.spec.scheduler_name or DEFAULT_SCHEDULER


def _is_ours(draft: Draft) -> bool:
    """Return whether a binding is for our scheduler, and not suspended."""
    return scheduler_of(draft) == DEFAULT_SCHEDULER and not draft.spec.scheduling_suspended


def known_problem(status: BindingStatus) -> str:
    """Return what the Scheduled condition complains about so far, `""` for nothing."""
    return complaint_in(status.conditions or ())


def complaint_in(conditions: Iterable[Body]) -> str:
    """Return what the Scheduled condition among some complains about, `""` for nothing."""
    for condition in conditions:
        if condition.get("type") == "Scheduled" and condition.get("status") == "False":
            return text(condition, "message")
    return ""


def decoded(draft: Draft, spec: BindingSpec, status: BindingStatus) -> Binding:
    """Return a binding as the scheduler reads it; what cannot be read of its annotation is mended.

    Unlike upstream, where such a binding is neither scheduled nor evicted again: where our
    scheduler looks at it, it has none, so it is scheduled and written anew; elsewhere the placement
    counts.
    """
    binding = binding_of(draft.metadata, spec, status, draft.placement())
    if is_readable(binding.applied):
        return binding
    placement = None if is_considered(draft) else binding.placement
    return binding._replace(applied="" if placement is None else applied_placement(placement))


MOVING_TO = "reconciler.dev/moving-to"
"""Annotation: cluster to replicas that a limited rebalance is moving towards."""

BETWEEN = "reconciler.dev/between-groups"
"""Annotation: the clusters outside of its affinity group where a withdrawn batch left a binding."""

Clusters = tuple[TargetCluster, ...]


class SurgeState(NamedTuple):
    """How a step under way stands.

    `ready` asks the reports whether a cluster has so many replicas that are ready, or all that it
    was given of what has none. `interrupted`
    says that nothing of the step may wait any longer.
    """

    ready: Ready
    interrupted: bool


class BatchedMove(NamedTuple):
    """Where a binding is after this pass, and where it is going, `None` if it is there.

    `followed` says that it went on to the goal of an earlier batch. `surge` is what runs beside,
    `begun` whether this pass started that, `step` what became of the one before, and `given_up` why
    its goal is none any more. `unmade` is why it cannot be begun as it was asked for. `group` is
    the affinity group that places it from now on, `None` where the scheduler says.
    """

    clusters: Clusters
    goal: Clusters | None = None
    followed: bool = False
    surge: Surge | None = None
    begun: bool = False
    step: StepResult | None = None
    given_up: str = ""
    unmade: str = ""
    group: str | None = None

    @property
    def left(self) -> int:
        """How many replicas are still to be moved; of what has none, the copies that start."""
        if self.goal is None:
            return 0
        beside = 0 if self.surge is None else self.surge.size
        return max(beside, distance(self.clusters, self.goal))

    @property
    def copies(self) -> Clusters:
        """What each cluster is to have."""
        return copies_of(self.clusters, self.surge)

    @property
    def started(self) -> int:
        """How many replicas this pass started beside others."""
        return self.surge.size if self.begun and self.surge is not None else 0

    @property
    def news(self) -> str:
        """What this pass did beside what is placed, for people; `""` for nothing."""
        parts = [] if self.step is None or not self.step.news else [self.step.news]
        if self.begun and self.surge is not None:
            parts.append(f"starts {self.surge.waits_for}")
        return "; ".join(parts)


def read_goal(metadata: BindingMetadata) -> Clusters | None:
    """Return the goal that an earlier batch left, `None` if there is none or it was garbled."""
    note = read_note(metadata.note(MOVING_TO))
    counts = {name: count for name, count in note.items() if type(count) is int and count > 0}
    if not note or counts.keys() != note.keys():
        return None
    return tuple(TargetCluster(ClusterName(name), count) for name, count in sorted(counts.items()))


def write_goal(goal: Clusters | None) -> str:
    """Return the annotation of a goal, `""` for none."""
    return "" if goal is None else write_note(dict(goal))


def batched_bindings(moving: frozenset[ObjectKey] | None) -> frozenset[ObjectKey] | None:
    """Return the bindings of the workloads that a limited rebalance is still moving.

    `None` stands for any, as where a record cannot be read.
    """
    return None if moving is None else frozenset(map(binding_key, moving))


def clusters_between(
    metadata: BindingMetadata, binding: Binding, members: Members, *, stands: bool
) -> tuple[ClusterName, ...]:
    """Return the clusters of a binding that count as of its affinity group, by name.

    Args:
        metadata: Says where an earlier batch left it.
        binding: As it stands.
        members: The fleet.
        stands: Whether it counts from where it stands now: its goal was given up in this pass, or
            a step is under way.
    """
    names = {name for name, _ in binding.clusters}
    if not stands:
        listed = read_note(metadata.note(BETWEEN))
        return tuple(sorted(ClusterName(one) for one in listed if one in names))
    terms = () if binding.placement is None else binding.placement.cluster_affinities or ()
    term = next((one for one in terms if one.affinity_name == binding.observed_affinity), None)
    if term is None:
        return ()
    position = members.fleet.position
    inside = NO_CLUSTERS
    for affinity in term.tiers:
        inside = Mask(inside | members.matching(affinity))
    return tuple(sorted(n for n in names if n in position and not inside >> position[n] & 1))


def write_between(names: Sequence[ClusterName], moved: Clusters) -> str:
    """Return the annotation of where a binding is between groups, `""` where it is not."""
    left = sorted({name for name, _ in moved}.intersection(names)) if names else ()
    return write_note(dict.fromkeys(left, True)) if left else ""


def is_divisible(binding: Binding) -> bool:
    """Return whether replicas can move a few at a time: a duplicated workload moves as a whole."""
    placement = binding.placement
    if placement is None or not binding.replicas:
        return False
    return strategy_of(placement) not in (None, DivisionStrategy.DUPLICATED)


def is_reachable(binding: Binding, goal: Clusters, members: Members, now: datetime) -> bool:
    """Return whether every cluster of a goal would still pass the filters."""
    placement = binding.placement
    if placement is None:
        return False
    wanted = {name for name, _ in goal}
    if not is_divisible(binding):
        binding = binding._replace(observed_affinity=_group_of(binding, wanted, members))
    elif sum(count for _, count in goal) != binding.replicas:
        return False
    known = members.fleet.named(wanted)
    feasible = feasible_now(binding, placement, members, now)
    return known.bit_count() == len(wanted) and not known & ~feasible


def move(
    binding: Binding,
    verdict: ScheduleVerdict | None,
    goal: Clusters | None,
    demand: Demand | None,
    members: Members,
    now: datetime,
) -> BatchedMove:
    """Return where a binding is after this pass.

    Args:
        binding: As the scheduler saw it.
        verdict: What the scheduler decided, `None` if it did not look.
        goal: What an earlier batch left to be done.
        demand: The trigger, with how many replicas may move.
        members: The fleet.
        now: Moment of the pass.
    """
    budget = None if demand is None else demand.budget
    if verdict is not None and verdict.clusters is not None:
        fresh = verdict.trigger is ScheduleReason.RESCHEDULE_TRIGGERED
        if demand is not None and is_made_first(demand) and not is_divisible(binding):
            return _double_whole(binding, verdict, demand, now)
        if demand is not None and is_made_first(demand):
            return _make_first(_towards(binding.clusters, verdict.clusters, 0), demand, now)
        if fresh and budget is not None and is_divisible(binding):
            return _towards(binding.clusters, verdict.clusters, budget)
        return BatchedMove(verdict.clusters)
    stays = stay(binding, verdict, goal, demand)
    goal = stays.goal
    if goal is None or demand is None or not is_reachable(binding, goal, members, now):
        return stays
    if demand.surge is not None:
        return _make_first(stays, demand, now)._replace(followed=True)
    moved = BatchedMove(goal) if budget is None else _towards(binding.clusters, goal, budget)
    return moved._replace(followed=True)


def is_made_first(demand: Demand) -> bool:
    """Return whether a schedule afresh is brought about step by step, each made before it breaks.

    Whatever else had the scheduler look: it has divided from scratch.
    """
    return demand.fresh and demand.surge is not None


def why_not_made(binding: Binding, verdict: ScheduleVerdict | None, demand: Demand) -> str:
    """Return why a schedule afresh cannot be brought about step by step, `""` if it can.

    It must find a place for every replica: none is given up for one that is nowhere.
    """
    if verdict is None or not is_made_first(demand):
        return ""
    if not is_divisible(binding):
        return verdict.problem or ("" if verdict.clusters else "it finds no place")
    placed = sum(count for _, count in verdict.clusters or ())
    if verdict.error is None and placed == binding.replicas:
        return ""
    return verdict.problem or f"only {placed} of {binding.replicas} replicas find a place"


def keep_what_runs(
    binding: Binding, stuck: Mapping[ClusterName, int], members: Members, now: datetime
) -> tuple[ScheduleVerdict, str]:
    """Return where a binding goes that keeps what runs, or why it stays.

    Replicas that cannot be scheduled where they are count as not placed; the scheduler places as
    many more, and no cluster ends with less than runs there. It is all or nothing.

    Args:
        binding: As it stands.
        stuck: Cluster to replicas that cannot be scheduled there.
        members: The fleet.
        now: Moment of the pass.

    Source: karmada pull request 7662, proposal of `preserveAvailableReplicas`.
    """
    done = ScheduleVerdict(
        trigger=ScheduleReason.RESCHEDULE_TRIGGERED,
        observed_affinity=binding.observed_affinity,
        scheduled=True,
    )
    if not any(stuck.values()):
        return done, ""
    runs = {name: count - stuck.get(name, 0) for name, count in binding.clusters}
    stays = tuple(TargetCluster(name, count) for name, count in runs.items() if count)
    verdict = schedule(binding._replace(clusters=stays, reschedule_triggered_at=None), members, now)
    replicas = dict(verdict.clusters or ())
    if verdict.error is not None:
        return done, verdict.problem
    if sum(replicas.values()) != binding.replicas or any(
        replicas.get(n, 0) < c for n, c in runs.items()
    ):
        return done, "what cannot be scheduled finds no other place beside what runs"
    return verdict._replace(trigger=ScheduleReason.RESCHEDULE_TRIGGERED), ""


def _make_first(moved: BatchedMove, demand: Demand, now: datetime) -> BatchedMove:
    """Return a binding with the surge of its next step, if it has one left to make."""
    if moved.goal is None or demand.surge is None:
        return moved
    placed, goal = dict(moved.clusters), dict(moved.goal)
    surge = begin(placed, goal, demand.surge, budget=demand.budget, by=demand.by, now=now)
    return moved._replace(surge=surge, begun=surge is not None)


def _double_whole(
    binding: Binding, verdict: ScheduleVerdict, demand: Demand, now: datetime
) -> BatchedMove:
    """Return a binding that moves as a whole, with all that comes beside all that goes.

    Until all of it is ready the affinity group of before places the binding: what is scheduled in
    each pass would go to the new one at once. Where nothing comes, what goes has no replacement.
    """
    goal, limits = verdict.clusters or (), demand.surge
    had = dict.fromkeys((name for name, _ in binding.clusters), 1)
    wants = dict.fromkeys((name for name, _ in goal), 1)
    if limits is None or wants.keys() <= had.keys() or had.keys() <= wants.keys():
        return BatchedMove(goal)
    every = replace(limits, max_surge_percent=100)
    surge = begin(had, wants, every, budget=None, by=demand.by, now=now)
    if surge is None:
        return BatchedMove(goal)
    return BatchedMove(
        tuple(TargetCluster(name, binding.replicas) for name, _ in binding.clusters),
        _marked(goal, binding),
        surge=_counted(surge, binding),
        begun=True,
        group=binding.observed_affinity,
    )


def _marked(clusters: Clusters, binding: Binding) -> Clusters:
    """Return clusters as a goal names them, each with one copy where there are no replicas."""
    return tuple(TargetCluster(name, binding.replicas or 1) for name, _ in clusters)


def _counted(surge: Surge, binding: Binding) -> Surge:
    """Return a surge of whole copies with what each of them has."""
    return replace(surge, doubled=dict.fromkeys(sorted(surge.clusters), binding.replicas or 1))


def _group_of(binding: Binding, names: Collection[ClusterName], members: Members) -> str:
    """Return the first affinity group that means all of some clusters, else the present one."""
    terms = () if binding.placement is None else binding.placement.cluster_affinities or ()
    wanted = members.fleet.named(names)
    for term in terms:
        inside = NO_CLUSTERS
        for affinity in term.tiers:
            inside = Mask(inside | members.matching(affinity))
        if not wanted & ~inside:
            return term.affinity_name
    return binding.observed_affinity


def move_beside(
    binding: Binding,
    verdict: ScheduleVerdict | None,
    goal: Clusters | None,
    demand: Demand | None,
    members: Members,
    now: datetime,
    *,
    surge: Surge,
    state: SurgeState,
) -> BatchedMove:
    """Return where a binding is after this pass that has a step under way.

    Whatever schedules it otherwise comes first: replicas that it wants where some run beside keep
    these, the others go. A schedule afresh takes what is ready, and begins its own first step.

    Args:
        binding: As the scheduler saw it.
        verdict: What the scheduler decided, `None` if it did not look.
        goal: Where the step goes, `None` where nobody knows any more.
        demand: The trigger, `None` if nobody asks in this pass.
        members: The fleet.
        now: Moment of the pass.
        surge: What runs beside.
        state: What may be taken, and whether it goes on at all.
    """
    if verdict is None or verdict.clusters is None or _stays_so(binding, verdict, goal):
        if goal is None or not is_reachable(binding, goal, members, now):
            state = state._replace(interrupted=True)
        return _go_on(binding, surge, goal, state, now, members)
    if demand is None or not is_made_first(demand):
        step = displace(surge, _parts(binding, binding.clusters), _parts(binding, verdict.clusters))
        return BatchedMove(verdict.clusters, step=step)
    state = state._replace(interrupted=True)
    towards = verdict.clusters if is_divisible(binding) else goal
    went = _go_on(binding, surge, towards, state, now, members)
    begun = move(binding._replace(clusters=went.clusters), verdict, goal, demand, members, now)
    return begun._replace(step=went.step)


def _parts(binding: Binding, clusters: Clusters) -> dict[ClusterName, int]:
    """Return what each cluster has, one copy where there are no replicas."""
    return {name: count or int(not binding.replicas) for name, count in clusters}


def _stays_so(binding: Binding, verdict: ScheduleVerdict, goal: Clusters | None) -> bool:
    """Return whether a schedule that comes in each pass leaves what moves as a whole where it is.

    If it does not, something else is wanted, and that ends a step.
    """
    is_always = verdict.trigger is ScheduleReason.DUPLICATED_OR_NON_WORKLOAD
    return is_always and goal is not None and dict(verdict.clusters or ()) == dict(binding.clusters)


def _go_on(
    binding: Binding,
    surge: Surge,
    goal: Clusters | None,
    state: SurgeState,
    now: datetime,
    members: Members,
) -> BatchedMove:
    """Take what is ready of a step; give back the rest where it must not wait any longer."""
    if not is_divisible(binding):
        return _go_on_whole(binding, surge, goal or (), state, now, members)
    placed, wanted = dict(binding.clusters), dict(goal or ())
    step = go_on(surge, placed, wanted, state.ready, now, interrupted=state.interrupted)
    clusters = binding.clusters
    if step.taken:
        clusters = tuple(TargetCluster(name, count) for name, count in step.placed.items())
    reached = goal is None or dict(clusters) == wanted
    return BatchedMove(
        clusters,
        None if reached or step.late else goal,
        surge=step.surge,
        step=step,
        given_up=_given_up(step, surge),
    )


def _given_up(found: StepResult, surge: Surge) -> str:
    """Return why a goal is none any more, `""` if it may be reached."""
    late = ", ".join(sorted(found.returned))
    return f"not ready on {late} by {format_moment(surge.deadline)}" if found.late else ""


def _go_on_whole(
    binding: Binding,
    surge: Surge,
    goal: Clusters,
    state: SurgeState,
    now: datetime,
    members: Members,
) -> BatchedMove:
    """Take all that a step doubled once all of it is ready, or give all of it back.

    In between some of it would be where no affinity group of the policy puts it.
    """
    count, beside = binding.replicas or 1, sorted(surge.clusters)
    every = all(state.ready(name, count) for name in beside)
    units = dict.fromkeys(beside, 1)
    found = go_on(
        replace(surge, doubled=units),
        {ALL_THAT_GOES: len(beside)},
        units,
        lambda *_: every,
        now,
        interrupted=state.interrupted,
    )
    step = found._replace(
        taken=dict.fromkeys(found.taken, count), returned=dict.fromkeys(found.returned, count)
    )
    if found.taken:
        names = sorted(name for name, _ in goal)
        clusters = tuple(TargetCluster(name, binding.replicas) for name in names)
        return BatchedMove(clusters, step=step, group=_group_of(binding, names, members))
    goes_on = None if found.surge is None else _counted(found.surge, binding)
    return BatchedMove(
        binding.clusters,
        None if goes_on is None else goal,
        surge=goes_on,
        step=step,
        given_up=_given_up(found, surge),
        group=binding.observed_affinity,
    )


ALL_THAT_GOES = ClusterName("")
"""In place of the clusters that a whole workload leaves: they are left together."""


def stay(
    binding: Binding,
    verdict: ScheduleVerdict | None,
    goal: Clusters | None,
    demand: Demand | None,
) -> BatchedMove:
    """Return that a binding stays; a goal of before is no goal of a schedule afresh that failed."""
    failed = verdict is not None and verdict.triggered and demand is not None and demand.fresh
    return BatchedMove(binding.clusters, None if failed else goal)


def _towards(present: Clusters, goal: Clusters, budget: int) -> BatchedMove:
    """BatchedMove so many replicas towards a goal; what is missing or too much is put right beside.

    There are never fewer replicas than the goal has.
    """
    have, want = dict(present), dict(goal)
    total = sum(want.values())
    lacking = {name: count - have.get(name, 0) for name, count in sorted(want.items())}
    shares = dict(have)
    room = budget + max(0, total - sum(have.values()))
    for name, lack in lacking.items():
        taken = min(max(lack, 0), room)
        room -= taken
        shares[name] = shares.get(name, 0) + taken
    surplus = sum(shares.values()) - total
    for name in sorted(shares, reverse=True):
        given = min(surplus, max(0, shares[name] - want.get(name, 0)))
        surplus -= given
        shares[name] -= given
    clusters = tuple(TargetCluster(name, count) for name, count in sorted(shares.items()) if count)
    return BatchedMove(clusters) if dict(clusters) == want else BatchedMove(clusters, goal)


def moves_afresh(binding: Binding, members: Members, now: datetime) -> int:
    """Return how many replicas a schedule afresh would move."""
    verdict = schedule(asked_afresh(binding, now), members, now)
    return 0 if verdict.clusters is None else distance(binding.clusters, verdict.clusters)


def blocked_by_eviction(
    binding: Binding, verdict: ScheduleVerdict | None, members: Members, now: datetime
) -> str:
    """Return that clusters were not chosen since evictions from there are not over, `""` if none.

    No schedule chooses such a cluster, so a rebalance back to it does nothing.
    """
    if verdict is None or not verdict.triggered or not binding.tasks:
        return ""
    free = schedule(binding._replace(tasks=()), members, now)
    chosen = {name for name, _ in verdict.clusters or ()}
    wanted = {name for name, _ in free.clusters or ()} - chosen
    blocked = sorted(wanted & {task.from_cluster for task in binding.tasks})
    if not blocked:
        return ""
    return f"{', '.join(blocked)} not chosen while it is being evicted from: rebalance again later"


def moves_left(
    binding: Binding, goal: Clusters | None, members: Members, now: datetime, *, in_step: bool
) -> int | None:
    """Return how many replicas are left to be moved, `None` without a goal that can be reached.

    A cluster of the goal may have been tainted, or have gone, since the batch before. A step that
    is under way looks at that itself, and asking for each of many would cost more than the rest.
    """
    if goal is None or not (in_step or is_reachable(binding, goal, members, now)):
        return None
    here = binding.clusters if is_divisible(binding) else _marked(binding.clusters, binding)
    return distance(here, goal)


def distance(present: Sequence[TargetCluster], goal: Sequence[TargetCluster]) -> int:
    """Return how many replicas change their cluster; those that are new altogether do not count.

    >>> distance([TargetCluster("a", 4)], [TargetCluster("a", 1), TargetCluster("b", 3)])
    3
    """
    have: Mapping[str, int] = dict(present)
    arriving = sum(max(0, count - have.get(name, 0)) for name, count in goal)
    return max(0, arriving - max(0, sum(n for _, n in goal) - sum(have.values())))
