"""Why a binding is where it is: the scheduler's own records, put into words."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from operator import itemgetter

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import Placement
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.dialects.karmada.scheduler.divide_by_score import scores_asked
from reconciler.dialects.karmada.scheduler.division import (
    DivisionStep,
    DivisionStrategy,
    Mode,
    strategy_of,
)
from reconciler.dialects.karmada.scheduler.estimate import NOT_ESTIMATED, estimates
from reconciler.dialects.karmada.scheduler.failure import Failure
from reconciler.dialects.karmada.scheduler.profile import PROFILE
from reconciler.dialects.karmada.scheduler.schedule import try_groups
from reconciler.dialects.karmada.scheduler.schedule_result import Attempt, ScheduleVerdict
from reconciler.dialects.karmada.scheduler.select import ignores_spread
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.view.weighing import weighing_note
from reconciler.model.explanation import ClusterAnswer, ClusterVerdict, Explanation, ScorePart
from reconciler.schedule.framework import Mask, positions_of, run_every_filter, score_at

LEAVING = "cluster(s) being deleted, or without a file"

QUESTIONS: Mapping[DivisionStrategy | None, str] = {
    DivisionStrategy.DUPLICATED: "on each cluster",
    DivisionStrategy.STATIC_WEIGHT: "divided by static weights",
    DivisionStrategy.DYNAMIC_WEIGHT: "divided by available replicas",
    DivisionStrategy.AGGREGATED: "aggregated on as few clusters as possible",
    None: "by a strategy that there is not",
}

MODES: Mapping[Mode, str] = {
    Mode.FRESH: "anew, whatever was there",
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
    """
    placement = binding.placement
    attempts = outcome.attempts if outcome is not None else ()
    if not attempts and placement is not None:
        attempts = try_groups(
            binding, placement, members, now, propagate_empty=propagate_empty, room=room
        )
    counted = _counted(attempts)
    return Explanation(
        key=draft.key,
        subject=draft.subject,
        question="no placement" if placement is None else _question(binding, placement),
        result=_result(draft, outcome, counted),
        clusters=() if counted is None else tuple(_answers(draft, counted, members, now, room)),
        steps=tuple(_steps(attempts, members)),
        judged=outcome is not None,
    )


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
    fleet, known = members.fleet, members.known_to(draft.spec.named)
    candidates = Mask(fleet.all & ~fleet.deleting)
    verdicts: dict[int, list[ClusterVerdict]] = {
        position: [ClusterVerdict("", LEAVING, "have its file, without a deletionTimestamp")]
        for position in positions_of(Mask(known & fleet.deleting))
    }
    for rejection in run_every_filter(PROFILE.filters, attempt.request, members, candidates, now):
        found = ClusterVerdict(rejection.plugin, str(rejection.reason), str(rejection.remedy))
        for position in positions_of(rejection.clusters):
            verdicts.setdefault(position, []).append(found)
    parts = _scores(attempt)
    ranks = (
        {position: rank for rank, position in enumerate(attempt.ranking.order, start=1)}
        if attempt.ranking is not None
        else {}
    )
    shares = {} if isinstance(attempt.result, Failure) else dict(attempt.result)
    scored = scores_asked(attempt.request.placement, members, now)
    for position in positions_of(known):
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
    takes = "takes any number" if unlimited else f"takes {room} more"
    return f"{takes}, holds {held}" if held else takes


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
