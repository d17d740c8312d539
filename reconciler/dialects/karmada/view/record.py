"""What a round records of one binding: from where to where, why, and what it waits for.

The decision lists the clusters that were rejected. The explanation puts the scheduler's own records
into words, with notes on clusters that weigh by a score. Waits are tolerated taints, tolerated ill
health, and evictions that have not ended.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.binding_spec import BindingSpec, EvictionTask
from reconciler.dialects.karmada.api.cluster import Members
from reconciler.dialects.karmada.api.cluster_taints import NOT_READY, UNREACHABLE
from reconciler.dialects.karmada.api.names import CLUSTER
from reconciler.dialects.karmada.api.placement import (
    WEIGHT_POINTER,
    Placement,
    policy_weight,
    score_in,
)
from reconciler.dialects.karmada.api.policy import Policy
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction import Action, Eviction, Failing, Leaving
from reconciler.dialects.karmada.scheduler.divide import (
    DivisionStep,
    DivisionStrategy,
    Mode,
    scores_asked,
    strategy_of,
)
from reconciler.dialects.karmada.scheduler.plugins import (
    EVICTION_FILTER,
    PROFILE,
    Failure,
    refused_before,
)
from reconciler.dialects.karmada.scheduler.reschedule import (
    BatchedMove,
    RescheduleRequest,
    known_problem,
)
from reconciler.dialects.karmada.scheduler.room import NOT_ESTIMATED, BindingRoom, estimates
from reconciler.dialects.karmada.scheduler.schedule import (
    Attempt,
    ScheduleReason,
    ScheduleVerdict,
    try_groups,
)
from reconciler.dialects.karmada.scheduler.select import ignores_spread
from reconciler.dialects.karmada.view.binding_file import eviction_text
from reconciler.dialects.scores import ExtendedScores, Reported
from reconciler.manifests.references import Dangling
from reconciler.model.decision import (
    Cause,
    CauseKind,
    ClusterAnswer,
    ClusterVerdict,
    Decision,
    Explanation,
    Placed,
    ScorePart,
    Wait,
)
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.late import LateMapping
from reconciler.model.records import replace
from reconciler.model.world import Manifest
from reconciler.rebalance.surge import GIVES_BACK, Surge
from reconciler.schedule.framework import Mask, positions_of, remedy_of, run_every_filter, score_at

LEFT_ALONE = frozenset({ScheduleReason.NONE, ScheduleReason.DELETING})
BY_HAND = "rescheduleTriggeredAt edited by hand"
FREED = "by what others use of it"
ROOM = "room is free by now"
RECORDED = "by the placement of its binding, since no policy claims it"


class Happened(NamedTuple):
    """What may have moved a binding in a round; `None` where nothing of the sort was there.

    `demand` is a rebalancer's that was met, `note` what kept it from a better result. `edited` says
    that a person changed the clusters since the last pass. `spec` is what the round leaves, `moved`
    how it came there. `kept` are copies that stay from now on, since nothing takes their place.
    `protected` says that room in clusters is.
    """

    demand: Demand | None
    asked: RescheduleRequest
    eviction: Eviction | None
    failing: Failing
    verdict: ScheduleVerdict | None
    edited: bool
    spec: BindingSpec
    moved: BatchedMove
    kept: tuple[EvictionTask, ...] = ()
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
    news = bool(problem) and problem != known_problem(happened.asked.status)
    if happened.kept:
        problem, news = "; ".join(map(_kept, happened.kept)), True
    moved = happened.moved
    if before == after and not (news or happened.demand or happened.asked.by_hand or moved.news):
        return None
    return Decision(
        key=draft.key,
        subject=draft.subject,
        cause=_cause(draft, happened),
        before=before,
        after=after,
        problem=problem,
        rejected=LateMapping(partial(_rejected, draft.spec.named, verdict, members, now)),
        evicted=(*(item.cluster for item in _left(happened)), *happened.failing.leaving),
        begun=moved.started if moved.begun or moved.step is not None else None,
        given_back=0 if moved.step is None else moved.step.lost,
    )


def _kept(task: EvictionTask) -> str:
    """Return that a copy stays."""
    count = f"{task.replicas} of its replicas" if task.replicas else "it"
    return f"no other cluster takes {count}, so its copy on {task.from_cluster} is kept for that"


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
        recorded = ", keeping what runs" if demand.preserves else ""
        recorded += f", {RECORDED}" if happened.asked.recorded else ""
        notes = filter(None, (happened.note, happened.moved.news))
        note = "".join(f"; {clause}" for clause in notes)
        return Cause(CauseKind.REBALANCED, f"{demand.by}{recorded}{note}", sources=demand.askers)
    leaving = _left(happened)
    if leaving or failing.leaving:
        reasons = {d.cluster: _why_left(d) for d in leaving}
        reasons |= dict.fromkeys(failing.leaving, "the workload is unhealthy there")
        tainted = tuple(ObjectKey(*CLUSTER, "", d.cluster) for d in leaving if d.untolerated)
        return Cause(CauseKind.EVICTED, eviction_text(reasons, happened.spec), sources=tainted)
    if happened.edited:
        return Cause(CauseKind.EDITED)
    return _of_trigger(draft, happened)


def _of_trigger(draft: Draft, happened: Happened) -> Cause:
    """Return what made the scheduler act, or what became of a step."""
    if happened.asked.by_hand:
        return Cause(CauseKind.REBALANCED, BY_HAND)
    trigger = happened.verdict.trigger if happened.verdict is not None else ScheduleReason.NONE
    surge = draft.stood.surge
    if surge is not None and happened.moved.news and trigger in LEFT_ALONE:
        return Cause(CauseKind.REBALANCED, f"{surge.by}; {happened.moved.news}")
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


def _why_left(leaving: Leaving) -> str:
    """Return the taint that forces a copy out, or that was tolerated until now."""
    if leaving.untolerated is not None:
        return str(leaving.untolerated)
    return f"toleration of {leaving.tolerated[0]} ended"


def _is_retry(draft: Draft, trigger: ScheduleReason) -> bool:
    """Return whether nothing but a trigger that failed before has the scheduler look.

    What has no replicas at all since then lacks them: that is no change of what is wanted.
    """
    same = draft.stood.replicas == draft.spec.replicas
    return (
        same and trigger is ScheduleReason.REPLICAS_CHANGED
    ) or trigger is ScheduleReason.RESCHEDULE_TRIGGERED


def _rejected(
    named: frozenset[str], verdict: ScheduleVerdict | None, members: Members, now: datetime
) -> Mapping[ClusterName, str]:
    """Return why each cluster was filtered out, by the attempt that counts.

    Clusters that are being deleted are not even asked upstream; here they have a reason, too. So
    have those that weigh nothing by their scores.
    """
    if verdict is None or not verdict.attempts:
        return {}
    attempt = verdict.attempts[0] if verdict.error is not None else verdict.attempts[-1]
    leaving = Mask(members.fleet.deleting & members.known_to(named))
    reasons = dict.fromkeys(positions_of(leaving), LEAVING)
    for rejection in attempt.rejections:
        reasons |= dict.fromkeys(positions_of(rejection.clusters), str(rejection.reason))
    reasons |= weightless(attempt, members, now)
    return {members.fleet.names[position]: reasons[position] for position in sorted(reasons)}


LEAVING = "cluster(s) being deleted, or without a file"

QUESTIONS: Mapping[DivisionStrategy | None, str] = {
    DivisionStrategy.DUPLICATED: "on each cluster",
    DivisionStrategy.STATIC_WEIGHT: "divided by static weights",
    DivisionStrategy.DYNAMIC_WEIGHT: "divided by available replicas",
    DivisionStrategy.AGGREGATED: "aggregated on as few clusters as possible",
    None: "by a strategy that there is not",
}

MODES: Mapping[Mode, str] = {
    Mode.FRESH: "from scratch, ignoring current placement",
    Mode.SCALE_UP: "on top of what is there",
    Mode.SCALE_DOWN: "by what is there, since fewer are wanted",
    Mode.UNCHANGED: "what is there adds up, nothing is divided",
}


def explain(
    draft: Draft,
    binding: Binding,
    outcome: ScheduleVerdict | None,
    members: Members,
    now: datetime,
    *,
    propagate_empty: bool,
    room: BindingRoom | None = None,
    leaving: Mapping[ClusterName, str] = MappingProxyType({}),
) -> Explanation:
    """Explain one binding; where nothing made the scheduler look at it, as if it looked now.

    Args:
        draft: The binding as it is wanted.
        binding: As the scheduler saw it.
        outcome: What the scheduler decided, `None` where it may not look at all.
        members: The fleet that it was asked about.
        now: Moment of the pass.
        propagate_empty: Whether clusters that get no replica are in the result.
        room: What is free for it, `None` where no room is protected.
        leaving: The clusters that a rebalance wants left, with who asks for that.
    """
    placement = binding.placement
    attempts = outcome.attempts if outcome is not None else ()
    if not attempts and placement is not None:
        attempts = try_groups(
            binding, placement, members, now, propagate_empty=propagate_empty, room=room
        )
    counted = _counted(attempts)
    answers = () if counted is None else _answers(draft, counted, members, now, room)
    return Explanation(
        key=draft.key,
        subject=draft.subject,
        question="no placement" if placement is None else _question(binding, placement),
        result=_result(draft, outcome, counted),
        clusters=tuple(_of_leaving(one, leaving.get(one.cluster, "")) for one in answers),
        steps=tuple(_steps(attempts, members)),
        judged=outcome is not None,
    )


def _of_leaving(answer: ClusterAnswer, by: str) -> ClusterAnswer:
    """Return what is said of a cluster that a rebalance wants left: nothing is evicted from it."""
    if not by:
        return answer
    verdict = ClusterVerdict(
        EVICTION_FILTER, f"{by} leaves it", f"be taken out of `leaving` of {by}"
    )
    verdicts = (verdict if one.plugin == EVICTION_FILTER else one for one in answer.verdicts)
    return replace(answer, verdicts=tuple(verdicts))


def _counted(attempts: tuple[Attempt, ...]) -> Attempt | None:
    """Return the attempt that counts: the one that scheduled, or else the first."""
    if not attempts:
        return None
    return attempts[0] if isinstance(attempts[-1].result, Failure) else attempts[-1]


def _question(binding: Binding, placement: Placement) -> str:
    """Return what is asked for."""
    if not binding.is_workload:
        return "one copy on each cluster that fits"
    plural, score = "" if binding.replicas == 1 else "s", placement.weighing_score
    by = QUESTIONS[strategy_of(placement)] if score is None else f"divided by the score {score}"
    return f"{binding.replicas} replica{plural}, {by}"


def _result(draft: Draft, outcome: ScheduleVerdict | None, attempt: Attempt | None) -> str:
    """Return how it ended, in upstream's words, and why the scheduler looked."""
    if outcome is None:
        needing = ", ".join(one.name for one in draft.spec.required_by)
        if draft.policy is None and needing:
            return f"Not scheduled by itself: it is where it is needed, by {needing}."
        why = (
            "no policy claims it" if draft.policy is None else "scheduling is suspended or foreign"
        )
        return f"Not scheduled: {why}."
    if outcome.condition is not None:
        return f"{outcome.condition.message} ({outcome.trigger})"
    if outcome.trigger is ScheduleReason.DELETING or attempt is None:
        return f"Not scheduled ({outcome.trigger})."
    failed = isinstance(attempt.result, Failure)
    then = attempt.result.message if isinstance(attempt.result, Failure) else "as below"
    return f"Nothing triggers scheduling; it would {'fail: ' if failed else 'end '}{then}"


def _answers(
    draft: Draft,
    attempt: Attempt,
    members: Members,
    now: datetime,
    protected: BindingRoom | None,
) -> Iterator[ClusterAnswer]:
    """Yield what one attempt says of each cluster, of those without a file only of its own."""
    fleet, named = members.fleet, members.known_to(draft.spec.named)
    candidates = Mask(fleet.all & ~fleet.deleting)
    verdicts: dict[int, list[ClusterVerdict]] = {
        position: [ClusterVerdict("", LEAVING, "have its file, without a deletionTimestamp")]
        for position in positions_of(Mask(named & fleet.deleting))
    }
    for rejection in run_every_filter(PROFILE.filters, attempt.request, members, candidates, now):
        reason = str(rejection.reason)
        for position in positions_of(rejection.clusters):
            verdict = ClusterVerdict(rejection.plugin, reason, remedy_of(rejection, position))
            verdicts.setdefault(position, []).append(verdict)
    parts = _scores(attempt)
    ranks = (
        {position: rank for rank, position in enumerate(attempt.ranking.order, start=1)}
        if attempt.ranking is not None
        else {}
    )
    shares = {} if isinstance(attempt.result, Failure) else dict(attempt.result)
    scored = scores_asked(attempt.request.placement, members, now)
    for position in positions_of(named):
        name = fleet.names[position]
        picked = name in shares
        short = protected if attempt.short and not picked else None
        room = _room(attempt, position, members, short)
        yield ClusterAnswer(
            cluster=name,
            verdicts=tuple(verdicts.get(position, ())),
            scores=parts.get(position, ()),
            total=sum(part.score for part in parts[position]) if position in parts else None,
            rank=ranks.get(position),
            picked=picked,
            replicas=shares[name] if picked and attempt.request.binding.is_workload else None,
            note="; ".join(filter(None, (weighing_note(attempt, position, scored), room))),
        )


def _scores(attempt: Attempt) -> Mapping[int, tuple[ScorePart, ...]]:
    """Return the parts of the score of each cluster that was ranked."""
    ranking = attempt.ranking
    if ranking is None:
        return {}
    return {
        position: tuple(
            ScorePart(name, score_at(levels, position)) for name, levels in ranking.scores.items()
        )
        for position in positions_of(attempt.feasible)
    }


def _room(attempt: Attempt, position: int, members: Members, short: BindingRoom | None) -> str:
    """Return what a cluster can take, where that is known.

    `short` is what is free beside reservations, where a cluster got nothing for lack of it.
    """
    ranking = attempt.ranking
    if ranking is None or not attempt.feasible >> position & 1:
        return ""
    room, held = ranking.capacity.column[position], ranking.held.get(position, 0)
    requirements, _ = ranking.capacity.ask
    unlimited = estimates(members, requirements).column[position] == NOT_ESTIMATED
    if short is not None:
        room = min(room, short.more_at(position, requirements))
    takes = "no capacity limit" if unlimited else f"takes {room} more"
    return f"{takes}, runs {held}" if held else takes


def _steps(attempts: tuple[Attempt, ...], members: Members) -> Iterator[str]:
    """Yield what happened, attempt by attempt."""
    for attempt in attempts:
        where = f"Group {attempt.affinity_name}: " if attempt.affinity_name else ""
        total = members.known_to(map(itemgetter(0), attempt.request.binding.clusters)).bit_count()
        yield f"{where}{attempt.feasible.bit_count()} of {total} clusters pass the filters."
        if attempt.selected is not None and attempt.ranking is not None:
            yield f"{where}{_selection(attempt)}"
        if attempt.division is not None:
            yield from (f"{where}{_division(step, members)}" for step in attempt.division.steps)
        if isinstance(attempt.result, Failure):
            yield f"{where}{attempt.result.message}"


def _selection(attempt: Attempt) -> str:
    """Return how many of the ranked clusters are taken, and by which rule."""
    selected, ranking = attempt.selected or (), attempt.ranking
    ranked = 0 if ranking is None else len(ranking.order)
    placement = attempt.request.placement
    if not placement.spread_constraints:
        return f"All {ranked} are selected: no spread constraint limits them."
    if ignores_spread(placement):
        return f"All {ranked} are selected: static weights ignore spread constraints."
    limits = ", ".join(
        f"{item.spread_by_field} {item.min_groups} to {item.max_groups}"
        for item in placement.spread_constraints
    )
    return f"{len(selected)} of {ranked} are selected by spread constraints: {limits}."


def _division(step: DivisionStep, members: Members) -> str:
    """Return what one division handed out, by which weights."""
    names = members.fleet.names
    weights = ", ".join(
        f"{names[position]}={weight}"
        for position, weight in zip(step.parties, step.weights, strict=True)
    )
    tier = f"Overflow group {step.tier}: " if step.tier else ""
    if step.mode is Mode.UNCHANGED:
        return f"{tier}{MODES[step.mode][0].upper()}{MODES[step.mode][1:]}."
    room = "" if step.room is None else f", room for {step.room}"
    return f"{tier}{step.target} replicas are divided {MODES[step.mode]}{room}; weights: {weights}."


TROUBLES = {
    NOT_READY: "is not ready and tolerated",
    UNREACHABLE: "cannot be reached and is tolerated",
}


def waits_of(
    draft: Draft,
    after: Placed,
    eviction: Eviction | None,
    failing: Failing,
    evicting: tuple[tuple[EvictionTask, datetime], ...],
    surge: Surge | None = None,
) -> tuple[Wait, ...]:
    """Return what a binding waits for after a round.

    Args:
        draft: The binding.
        after: Where it is now.
        eviction: What taints make of it, `None` if no cluster of its has any.
        failing: Where it is unhealthy.
        evicting: Its evictions, each with the moment that ends it at the latest.
        surge: What runs beside it, `None` if nothing does.
    """
    waits = [*_tolerated(after, eviction), *_unhealthy(after, failing)]
    waits += [(until, *_evicting(task)) for task, until in evicting]
    if surge is not None:
        waits.append((surge.deadline, surge.goes_on, GIVES_BACK))
    return tuple(
        Wait(until=until, key=draft.key, subject=draft.subject, reason=reason, then=then)
        for until, reason, then in waits
    )


def _evicting(task: EvictionTask) -> tuple[str, str]:
    """Return what an eviction does until its time is over, and what happens then."""
    name = task.from_cluster
    if task.directly:
        return f"it is kept off {name}", f"it may come back to {name}"
    return f"{name} keeps its copy while others take over", f"the copy on {name} is removed"


def _tolerated(after: Placed, eviction: Eviction | None) -> Iterator[tuple[datetime, str, str]]:
    """Yield the clusters with taints that are tolerated for a while."""
    for decision in () if eviction is None else eviction.decisions:
        if decision.until is not None:
            reason = f"{decision.cluster} {_trouble(decision)}"
            yield decision.until, reason, _leaves(after, decision.cluster)


def _trouble(decision: Leaving) -> str:
    """Return what is wrong with a cluster by its taints."""
    others = (f"has the taint {taint} and is tolerated" for taint in decision.tolerated)
    troubles = (
        TROUBLES.get(t.key, other) for t, other in zip(decision.tolerated, others, strict=True)
    )
    return ", ".join(dict.fromkeys(troubles))


def _unhealthy(after: Placed, failing: Failing) -> Iterator[tuple[datetime, str, str]]:
    """Yield the clusters that report the workload unhealthy, and are not left yet."""
    for name, until in failing.pending:
        yield until, f"it is unhealthy on {name} and tolerated there", _leaves(after, name)


def _leaves(after: Placed, cluster: ClusterName) -> str:
    """Return that an object leaves a cluster, with its replicas if it has any there."""
    count = dict(after).get(cluster, 0)
    if not count:
        return f"it leaves {cluster}"
    return f"{count} replica{'s leave' if count > 1 else ' leaves'} {cluster}"


BY_SCORES = (Mode.FRESH, Mode.SCALE_UP)


def weighing_note(attempt: Attempt, position: int, scored: Reported | None) -> str:
    """Return by which score a cluster weighs, `""` where it weighs by none."""
    name = attempt.request.placement.weighing_score
    return "" if scored is None or name is None else scored.told(name, position)


def weightless(attempt: Attempt, members: Members, now: datetime) -> Mapping[int, str]:
    """Return why selected clusters get none of what was divided: their score is not above 0."""
    name, division = attempt.request.placement.weighing_score, attempt.division
    steps = () if division is None else division.steps
    if name is None or any(step.mode not in BY_SCORES for step in steps):
        return {}
    scored = scores_asked(attempt.request.placement, members, now)
    if scored is None:
        return {}
    selected = attempt.selected or ()
    return {i: scored.told(name, i) for i in selected if scored.values[i] <= 0}


def doubts_of_weight(policy: Manifest, scores: ExtendedScores) -> Iterator[Dangling]:
    """Yield that no cluster has the score that a policy weighs by, or that a hub refuses it."""
    weight = policy_weight(policy.body)
    name = score_in(weight)
    if name is not None:
        yield from scores.doubts(policy.key, WEIGHT_POINTER, name, "refuses", weight)
