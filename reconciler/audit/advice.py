"""Which objects to rebalance, and what the merge of that rebalancer does, computed.

No rule of a scheduler is written here. A fresh schedule says where each object that can be
rebalanced would go as everything stands, and `gains.py` says what that brings; objects that could
gain nothing anywhere are not asked about. What is advised is written into a copy of the world, all
together, and passes run over that copy until the rebalancer is done: they say what moves. What
turns out not to be worth it there is left out, and the rest is computed again.

The advice is a value: what to rebalance, what that moves, and what is not advised and why. Its
JSON for machines is made here, too.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, NamedTuple, TypedDict

from reconciler.audit.gains import (
    AdviceRequest,
    Candidate,
    Gain,
    Goal,
    NotAdvised,
    Weighing,
    WhyNot,
    beyond,
    choose,
    declined,
    gains_of,
    points_of,
    weighing_in,
)
from reconciler.audit.json_shapes import Moment, ObjectJson, PlacementJson, object_json, placed_json
from reconciler.audit.previews.edits import put
from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.dialects import dialect_of
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.dialects.contract import Prepared
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.rebalance.rebalancer_files import decode_record, encode_reference
from reconciler.rebalance.target import (
    REBALANCER,
    AffinityPlace,
    FreshPlace,
    PresentPlace,
    Reference,
    Target,
    TargetSelection,
)

MOST_PASSES = 256
"""Ours: so many batches are computed; whoever needs more has a limit that is too small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancePasses:
    """The passes over a world with a rebalancer, one after the other.

    Attributes:
        outcomes: Each with its moment.
        pending: The targets that it is not done with, each with what it waits for, `""` for its
            batch.
    """

    outcomes: tuple[tuple[datetime, Outcome], ...]
    pending: Mapping[Reference, str]

    def decisions(self, own: Collection[ObjectKey], baseline: Outcome) -> dict[ObjectKey, Decision]:
        """Return what is decided because of the rebalancer, from where each is to where it ends.

        What an object that it does not name does later than in the first pass is not its doing, nor
        is what the first pass does without it.

        Args:
            own: What decisions about its targets bear.
            baseline: What the first pass does without it.
        """
        anyway = {one.key: one for one in baseline.decisions}
        decisions: dict[ObjectKey, Decision] = {}
        for number, (_, outcome) in enumerate(self.outcomes):
            for decision in outcome.decisions:
                earlier = decisions.get(decision.key)
                if decision.key in own:
                    first = decision if earlier is None else earlier
                    decisions[decision.key] = replace(decision, before=first.before)
                elif not number and not _is_same(decision, anyway.get(decision.key)):
                    decisions[decision.key] = decision
        return decisions

    def body_of(self, world: World, key: ObjectKey) -> Body | None:
        """Return an output as these passes leave it, `None` if it is gone or never was."""
        path = output_path(world.output_root, key)
        for _, outcome in reversed(self.outcomes):
            body = _written(outcome, path)
            if body is not None:
                return body
        present = world.outputs.get(key)
        return None if present is None else present.body


def run_rebalancer(
    world: World, key: ObjectKey, body: Body, now: datetime, memo: Memo, *, to_the_end: bool
) -> RebalancePasses:
    """Return what passes do once a rebalancer is merged, if nothing but time goes by.

    Args:
        world: Without it.
        key: Of the rebalancer.
        body: Its manifest.
        now: Moment of the first pass.
        memo: What passes over the world remembered.
        to_the_end: Whether to go on until it is done with all, or only to compute the first pass.
    """
    world = put(world, {key: body})
    path, at = output_path(world.output_root, key), now
    outcomes: list[tuple[datetime, Outcome]] = []
    pending: dict[Reference, str] = {}
    while True:
        outcome = reconcile(world, at, memo=memo)
        outcomes.append((at, outcome))
        record = _written(outcome, path)
        if record is not None:
            workloads = decode_record(record).workloads
            pending = {one.reference: one.waits_for for one in workloads if not one.result}
        over = not pending or outcome.recheck_at is None or len(outcomes) == MOST_PASSES
        if over or not to_the_end:
            return RebalancePasses(outcomes=tuple(outcomes), pending=pending)
        world, at = next_world(world, outcome), max(outcome.recheck_at or at, at)


def _written(outcome: Outcome, path: str) -> Body | None:
    """Return what a pass writes to a file, `None` if nothing."""
    texts = (c.content for c in outcome.changes if isinstance(c, WriteFile) and c.path == path)
    content = next(texts, None)
    return None if content is None else read(content.encode(), path).documents[0].body


def _is_same(decision: Decision, other: Decision | None) -> bool:
    """Return whether a decision comes to the same as another one."""
    return other is not None and (decision.before, decision.after, decision.removed) == (
        other.before,
        other.after,
        other.removed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedMove:
    """An object that the advice moves.

    Attributes:
        key: What decisions about it bear.
        reference: As the rebalancer names it, `None` for what goes along with others.
        subject: As people call it.
        before: Where it is.
        after: Where it is once the rebalancer is done.
        moves: How many parts leave a cluster for another one.
        gains: What that brings, the greatest gain first.
    """

    key: ObjectKey
    reference: Reference | None
    subject: str
    before: Placed
    after: Placed
    moves: int
    gains: tuple[Gain, ...] = ()

    @property
    def points(self) -> int:
        """What it gains in all."""
        return points_of(self.gains)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What is advised.

    Attributes:
        request: What was asked for.
        revision: Full hex id of the commit that it holds for.
        now: Moment of its first pass.
        moves: What moves once it is merged, the best first, then what goes along.
        others: What is not advised, sorted by key.
        key: Of the rebalancer.
        body: The rebalancer, `None` where nothing is advised.
        passes: How many passes it takes, 0 where nothing is advised.
        finished: Whether it is done after as many passes as are computed.
    """

    request: AdviceRequest
    revision: str
    now: datetime
    moves: tuple[AdvisedMove, ...]
    others: tuple[NotAdvised, ...]
    key: ObjectKey
    body: Body | None
    passes: int = 0
    finished: bool = True

    @property
    def moved(self) -> int:
        """How many parts move in all."""
        return sum(one.moves for one in self.moves)


class LimitsJson(TypedDict):
    """What advice stays within."""

    maxMoves: Annotated[int | None, "How many moves are advised at most in all."]
    minGain: Annotated[int, "Points that a move gains at least."]
    batch: Annotated[int | None, "Replicas that a batch of the rebalancer moves at most."]


class GainJson(TypedDict):
    """What a move gains or loses."""

    goal: Annotated[str, "`affinity`, `spread`, `room`, `score`, `cost` or `run`."]
    points: Annotated[int, "Less than 0 for a loss."]
    words: Annotated[str, "What it is, a clause."]


# A class body cannot name a field `from`.
_From = TypedDict("_From", {"from": Annotated[list[PlacementJson], "Where it is."]})


class AdvisedJson(_From):
    """What moves, and what that gains."""

    object: Annotated[ObjectJson, "What decisions about it bear."]
    target: Annotated[
        Body | None,
        "As the rebalancer names it; `null` for what goes along with others.",
    ]
    subject: Annotated[str, "The object as people call it."]
    to: Annotated[list[PlacementJson], "Where it is once the rebalancer is done."]
    moves: Annotated[int, "How many of its replicas or clusters move."]
    points: Annotated[int, "What it gains in all; 100 is a replica that is better off for good."]
    gains: Annotated[list[GainJson], "What that is, the greatest first."]


class DeclinedJson(TypedDict):
    """What is not advised, and why."""

    object: Annotated[ObjectJson, "What decisions about it bear."]
    target: Annotated[Body, "As a rebalancer would name it."]
    subject: Annotated[str, "The object as people call it."]
    why: Annotated[
        str,
        "`is well placed already`, `stays where it is`, `gains nothing`, `gains too little a "
        "move`, `is beyond the moves that are allowed`, `has to wait`, `moves anyway`, `gains "
        "nothing beside the others`, `cannot be decided`, `does not say what runs` or `rests "
        "after a move`.",
    ]
    detail: Annotated[str, 'What keeps it, or what is lost; `""` for nothing more.']
    moves: Annotated[int, "How many of its replicas or clusters would move."]
    points: Annotated[int, "What that would gain in all."]


class AdviseJson(TypedDict):
    """What to rebalance, and what that moves."""

    commit: Annotated[str, "Full hex id of the commit that the advice holds for."]
    at: Annotated[Moment, "Of the pass that is computed."]
    goals: Annotated[list[str], "What moves are to bring."]
    score: Annotated[str | None, "The scores that count, as `--score` names them."]
    limits: LimitsJson
    path: Annotated[str | None, "The file of the rebalancer; `null` where nothing is advised."]
    manifest: Annotated[Body | None, "The rebalancer."]
    moves: Annotated[
        int,
        "Replicas, or clusters of what has none, that leave a cluster for another one.",
    ]
    passes: Annotated[int, "How many passes it takes, 0 where nothing is advised."]
    finished: Annotated[bool, "Whether the rebalancer is done after these."]
    advised: Annotated[list[AdvisedJson], "What moves, the best first, then what goes along."]
    notAdvised: Annotated[list[DeclinedJson], "Everything else that can be rebalanced."]


def advice_json(advice: Advice, path: str) -> AdviseJson:
    """Return advice as plain data; `path` is the file that the rebalancer is for."""
    request, nothing = advice.request, advice.body is None
    return {
        "commit": advice.revision,
        "at": format_moment(advice.now),
        "goals": [str(goal) for goal in Goal if goal in request.goals],
        "score": None if request.family is None else str(request.family.score),
        "limits": {
            "maxMoves": request.max_moves,
            "minGain": request.min_points,
            "batch": request.batch_moves,
        },
        "path": None if nothing else path,
        "manifest": advice.body,
        "moves": advice.moved,
        "passes": advice.passes,
        "finished": advice.finished,
        "advised": [_move(one) for one in advice.moves],
        "notAdvised": [_other(one) for one in advice.others],
    }


def _move(move: AdvisedMove) -> AdvisedJson:
    return {
        "object": object_json(move.key),
        "target": None if move.reference is None else encode_reference(move.reference),
        "subject": move.subject,
        "from": placed_json(move.before),
        "to": placed_json(move.after),
        "moves": move.moves,
        "points": move.points,
        "gains": [
            {"goal": str(gain.goal), "points": gain.points, "words": gain.words}
            for gain in move.gains
        ],
    }


def _other(declined_object: NotAdvised) -> DeclinedJson:
    return {
        "object": object_json(declined_object.key),
        "target": encode_reference(declined_object.reference),
        "subject": declined_object.subject,
        "why": str(declined_object.why),
        "detail": declined_object.detail,
        "moves": declined_object.moves,
        "points": declined_object.points,
    }


MayGain = Callable[[ObjectKey, PresentPlace], bool]
"""Returns whether an object could be better off elsewhere, by what decisions about it bear."""


class FreshSchedule(NamedTuple):
    """One object that can be rebalanced, and where a schedule afresh would put it.

    Attributes:
        reference: The object as a rebalancer names it.
        key: What decisions about it bear.
        waits_for: Why it cannot be scheduled now, `""` if it can.
        content: Whether it was not asked, since no other place could be better.
        unknown: Why it is not known what of it runs, `""` if it is, or if that does not matter.
        rests: Why it is left alone for a while, `""` if it is not.
        place: Where it would be, `None` where it was not asked, or cannot be scheduled at all.
    """

    reference: Reference
    key: ObjectKey
    waits_for: str = ""
    content: bool = False
    unknown: str = ""
    rests: str = ""
    place: FreshPlace | None = None


def schedule_all_afresh(
    world: World,
    now: datetime,
    memo: Memo,
    may_gain: MayGain = lambda *_: True,
    *,
    preserves: bool = False,
) -> tuple[FreshSchedule, ...]:
    """Return where a schedule afresh would put each object that can be rebalanced, sorted.

    Nothing is rendered, told or remembered: the passes before and after this question share the
    memo.

    Args:
        world: As it is.
        now: Moment of the pass.
        memo: What a pass over this world at this moment remembered.
        may_gain: What it does not hold of is not asked where it would be.
        preserves: Whether only what cannot be scheduled may move.
    """
    settings = settings_in(world)
    if settings.suspend:
        return ()
    schedules = [
        _schedule_kept(reference, target)
        if preserves
        else _schedule_afresh(reference, target, may_gain, now)
        for memory in memo.dialects.values()
        for reference, target in _targets(memory.prepare(world, settings, now))
    ]
    return tuple(sorted(schedules, key=lambda one: one.reference.order))


def _schedule_afresh(
    reference: Reference, target: Target, may_gain: MayGain, now: datetime
) -> FreshSchedule:
    """Return where one object would be, unless it waits, rests, or nothing can come of it."""
    if target.waits_for:
        return FreshSchedule(reference, target.key, waits_for=target.waits_for)
    present = target.present()
    if present is not None and not may_gain(target.key, present):
        return FreshSchedule(reference, target.key, content=True)
    place, last = target.afresh(), target.last_move
    if place is not None and last is not None and last.rests(place, now):
        why = last.undone if last.is_undone(place) else last.told
        return FreshSchedule(reference, target.key, rests=why)
    return FreshSchedule(reference, target.key, place=place)


def _schedule_kept(reference: Reference, target: Target) -> FreshSchedule:
    """Return where one object would be if only what cannot be scheduled moved."""
    if target.waits_for:
        return FreshSchedule(reference, target.key, waits_for=target.waits_for)
    unknown = target.unkept()
    if unknown:
        return FreshSchedule(reference, target.key, unknown=unknown)
    place = target.kept()
    return FreshSchedule(reference, target.key, content=place is None, place=place)


def _targets(prepared: Prepared) -> Iterator[tuple[Reference, Target]]:
    """Yield all that can be rebalanced in an API, once each."""
    seen = set()
    for reference in prepared.select(TargetSelection()):
        target = prepared.target(reference)
        if target is not None and target.key not in seen:
            seen.add(target.key)
            yield reference, target


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
    schedules = schedule_all_afresh(
        world, now, memo, weighing.may_gain, preserves=request.preserves
    )
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
        if self.request.preserves:
            spec["reschedule"] = {"preserveAvailableReplicas": True}
        limits: dict[str, object] = {}
        if limited and self.request.batch_moves is not None:
            limits["maxMoves"] = self.request.batch_moves
        if self.request.rest_seconds is not None:
            limits["restSeconds"] = self.request.rest_seconds
        if limits:
            spec["limits"] = limits
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
        declined_moves: dict[ObjectKey, NotAdvised] = {}
        for one in self.chosen:
            waits, move = self.passes.pending.get(one.reference), moved.get(one.key)
            if waits is not None:
                declined_moves[one.key] = declined(one, WhyNot.WAITS, waits)
            elif move is None or move.points < request.min_points * max(1, move.moves):
                declined_moves[one.key] = declined(one, WhyNot.TOGETHER)
        if not declined_moves and request.max_moves is not None:
            excess = sum(one.moves for one in self.moves) - request.max_moves
            declined_moves |= {
                one.key: declined(one, WhyNot.BEYOND) for one in beyond(self.chosen, excess)
            }
        return declined_moves


def _sorted_out(
    question: _Question, schedules: Iterable[FreshSchedule]
) -> tuple[list[Candidate], list[NotAdvised]]:
    """Return what a schedule afresh moves, and the objects of which nothing is to be weighed."""
    anyway = {one.key for one in question.baseline.decisions if one.before != one.after}
    candidates: list[Candidate] = []
    others: list[NotAdvised] = []
    for schedule in schedules:
        place, why, detail = schedule.place, WhyNot.UNDECIDED, ""
        if schedule.key in anyway:
            why = WhyNot.ANYWAY
        elif schedule.waits_for:
            why, detail = WhyNot.WAITS, schedule.waits_for
        elif schedule.unknown:
            why, detail = WhyNot.UNKNOWN, schedule.unknown
        elif schedule.rests:
            why, detail = WhyNot.RESTS, schedule.rests
        elif schedule.content:
            why = WhyNot.CONTENT
        elif place is not None and place.before != place.after:
            candidates.append(_candidate(question, schedule, place))
            continue
        elif place is not None:
            why = WhyNot.STAYS
        subject = subject_of(schedule.reference)
        others.append(
            NotAdvised(
                reference=schedule.reference,
                key=schedule.key,
                subject=subject,
                why=why,
                detail=detail,
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
    return None if body is None or dialect is None else dialect.view().outputs.affinity_of(body)
