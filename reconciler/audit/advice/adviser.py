"""Which objects to rebalance, and what the merge of that rebalancer does, computed.

No rule of a scheduler is written here. What each object would gain is asked as everything stands,
unless nothing could be gained wherever it were; what is advised is written into a copy of the
world, all together, and passes over that say what moves. What turns out not to be worth it there is
left out, and the rest is computed again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.advice.advice import Advice, AdvisedMove
from reconciler.audit.advice.choice import (
    Candidate,
    NotAdvised,
    WhyNot,
    beyond,
    choose,
    declined,
)
from reconciler.audit.advice.gains import Gain, gains_of, points_of
from reconciler.audit.advice.passes import RebalancePasses, run_rebalancer
from reconciler.audit.advice.request import AdviceRequest
from reconciler.audit.advice.weighing import Weighing, weighing_in
from reconciler.core.changes import Outcome
from reconciler.core.dialects import dialect_of
from reconciler.core.fresh_schedules import FreshSchedule, schedule_all_afresh
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.model.body import Body
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.rebalance.kinds import REBALANCER
from reconciler.rebalance.rebalancer_status import encode_reference
from reconciler.rebalance.target import AffinityPlace, FreshPlace, Reference

MOST_TRIES = 8
"""Ours: so often what is chosen is computed, and what turns out not to be worth it left out."""


def advise(world: World, now: datetime, request: AdviceRequest) -> Advice:
    """Return which objects to rebalance, and what that moves.

    Args:
        world: Of the commit that the advice is for.
        now: Moment of the next pass.
        request: Goals and limits.
    """
    memo = Memo()
    baseline = reconcile(world, now, memo=memo)
    weighing = weighing_in(world, now, request)
    schedules = schedule_all_afresh(world, now, memo, weighing.may_gain)
    question = _Question(
        world=world, now=now, request=request, memo=memo, baseline=baseline, weighing=weighing
    )
    candidates, others = _sorted_out(question, schedules)
    left: dict[ObjectKey, NotAdvised] = {}
    for _ in range(MOST_TRIES):
        apt = [one for one in candidates if one.key not in left]
        chosen, declined_now = choose(
            apt, min_points=request.min_points, max_moves=request.max_moves
        )
        trial = question.attempt(chosen) if chosen else None
        unfit = {} if trial is None else trial.unfit(request)
        if not unfit:
            return question.advice(trial, (*others, *declined_now, *left.values()))
        left |= unfit
    unsure = (declined(one, WhyNot.TOGETHER) for one in candidates if one.key not in left)
    return question.advice(None, (*others, *left.values(), *unsure))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What advice is made from: the world at a moment, and what a pass does without any."""

    world: World
    now: datetime
    request: AdviceRequest
    memo: Memo
    baseline: Outcome
    weighing: Weighing

    @property
    def key(self) -> ObjectKey:
        """Of the rebalancer."""
        return ObjectKey(*REBALANCER, "", self.request.name)

    def rebalancer(self, chosen: Iterable[Candidate], *, limited: bool) -> Body:
        """Return the rebalancer that names what is chosen, with the limits that are asked for."""
        listed = sorted((one.reference for one in chosen), key=lambda one: one.order)
        spec: dict[str, object] = {"workloads": [encode_reference(one) for one in listed]}
        if limited and self.request.batch_moves is not None:
            spec["limits"] = {"maxMoves": self.request.batch_moves}
        return {
            "apiVersion": f"{self.key.group}/v1alpha1",
            "kind": self.key.kind,
            "metadata": {"name": self.key.name},
            "spec": spec,
        }

    def attempt(self, chosen: tuple[Candidate, ...], *, limited: bool = False) -> "_Trial":
        """Compute what passes do with what is chosen: one, or with limits all that it takes."""
        body = self.rebalancer(chosen, limited=limited)
        passes = run_rebalancer(self.world, self.key, body, self.now, self.memo, to_the_end=limited)
        moves = tuple(_moves(self, chosen, passes))
        return _Trial(body=body, chosen=chosen, passes=passes, moves=moves)

    def advice(self, trial: "_Trial | None", others: Iterable[NotAdvised]) -> Advice:
        """Return advice on what was tried last, `None` for advice to let everything be."""
        if trial is not None and self.request.batch_moves is not None:
            trial = self.attempt(trial.chosen, limited=True)
        return Advice(
            request=self.request,
            revision=self.world.revision,
            now=self.now,
            moves=() if trial is None else trial.moves,
            others=tuple(sorted(others, key=lambda one: one.key)),
            key=self.key,
            body=None if trial is None else trial.body,
            passes=0 if trial is None else len(trial.passes.outcomes),
            finished=trial is None or not trial.passes.pending,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What passes do with a rebalancer of some candidates."""

    body: Body
    chosen: tuple[Candidate, ...]
    passes: RebalancePasses
    moves: tuple[AdvisedMove, ...]

    def unfit(self, request: AdviceRequest) -> dict[ObjectKey, NotAdvised]:
        """Return what is chosen and is not worth it after all, or has to wait; the rest moves."""
        moved = {one.key: one for one in self.moves}
        found: dict[ObjectKey, NotAdvised] = {}
        for one in self.chosen:
            waits, move = self.passes.pending.get(one.reference), moved.get(one.key)
            if waits is not None:
                found[one.key] = declined(one, WhyNot.WAITS, waits)
            elif move is None or move.points < request.min_points * max(1, move.moves):
                found[one.key] = declined(one, WhyNot.TOGETHER)
        if not found and request.max_moves is not None:
            excess = sum(one.moves for one in self.moves) - request.max_moves
            found |= {one.key: declined(one, WhyNot.BEYOND) for one in beyond(self.chosen, excess)}
        return found


def _sorted_out(
    question: _Question, schedules: Iterable[FreshSchedule]
) -> tuple[list[Candidate], list[NotAdvised]]:
    """Return what a schedule afresh moves, and the objects of which nothing is to be weighed."""
    anyway = {one.key for one in question.baseline.decisions if one.before != one.after}
    candidates: list[Candidate] = []
    others: list[NotAdvised] = []
    for one in schedules:
        place, why, detail = one.place, WhyNot.UNDECIDED, ""
        if one.key in anyway:
            why = WhyNot.ANYWAY
        elif one.waits_for:
            why, detail = WhyNot.WAITS, one.waits_for
        elif one.content:
            why = WhyNot.CONTENT
        elif place is not None and place.before != place.after:
            candidates.append(_candidate(question, one, place))
            continue
        elif place is not None:
            why = WhyNot.STAYS
        subject = subject_of(one.reference)
        others.append(
            NotAdvised(
                reference=one.reference, key=one.key, subject=subject, why=why, detail=detail
            )
        )
    return candidates, others


def subject_of(reference: Reference) -> str:
    """Return a target as people call it.

    >>> subject_of(Reference("apps/v1", "Deployment", "default", "web"))
    'Deployment default/web'
    """
    scope = f"{reference.namespace}/" if reference.namespace else ""
    return f"{reference.kind} {scope}{reference.name}"


def _candidate(question: _Question, fresh: FreshSchedule, place: FreshPlace) -> Candidate:
    change = question.weighing.change(fresh.key, place)
    gains = gains_of(change, question.request.goals)
    return Candidate(
        reference=fresh.reference,
        key=fresh.key,
        subject=subject_of(fresh.reference),
        change=change,
        moves=change.moves,
        gains=gains,
        points=points_of(gains),
    )


def _moves(
    question: _Question, chosen: Iterable[Candidate], passes: RebalancePasses
) -> Iterator[AdvisedMove]:
    """Yield what moves: the objects that are named, in their order, then others that go along."""
    named = {one.key: one for one in chosen}
    decided = passes.decisions(named, question.baseline)
    for key in (*named, *sorted(decided.keys() - named.keys())):
        decision, candidate = decided.get(key), named.get(key)
        if decision is None or decision.before == decision.after:
            continue
        moves, gains = _weighed(question, passes, candidate, decision)
        yield AdvisedMove(
            key=key,
            reference=None if candidate is None else candidate.reference,
            subject=decision.subject if candidate is None else candidate.subject,
            before=decision.before,
            after=decision.after,
            moves=moves,
            gains=gains,
        )


def _weighed(
    question: _Question, passes: RebalancePasses, candidate: Candidate | None, decision: Decision
) -> tuple[int, tuple[Gain, ...]]:
    """Return the moves and gains of a decision; of one that comes as asked they are known."""
    places = (decision.before, decision.after)
    if candidate is not None and (candidate.change.before, candidate.change.after) == places:
        return candidate.moves, candidate.gains
    present = question.world.outputs.get(decision.key)
    body = passes.body_of(question.world, decision.key)
    place = FreshPlace(
        before=decision.before,
        after=decision.after,
        problem=decision.problem,
        groups=(
            _group(decision.key, None if present is None else present.body),
            _group(decision.key, body),
        ),
    )
    change = question.weighing.change(decision.key, place)
    return change.moves, gains_of(change, question.request.goals)


def _group(key: ObjectKey, body: Body | None) -> AffinityPlace | None:
    """Return the affinity group by which an output is placed."""
    dialect = dialect_of(key.group)
    return None if body is None or dialect is None else dialect.view().affinity_of(body)
