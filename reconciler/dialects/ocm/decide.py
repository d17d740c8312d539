"""One placement in a pass: whether it is run, what it becomes, and why it moved.

Its causes are what of it, of the clusters and of the scores is not as it was.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from reconciler.dialects.causes import (
    Difference,
    Trials,
    beside_creation,
    causes_of,
    is_explained,
    of_touched,
    with_cause,
)
from reconciler.dialects.cluster_steps import (
    UNMOVED,
    MovedPlacement,
    MoveRequest,
    SteppedMove,
    begin_exchanging,
    clusters_left,
    go_on_exchanging,
    last_move_of,
    move_in,
    waits_of_step,
)
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.object_pass import Part
from reconciler.dialects.ocm.api.cluster import Scores
from reconciler.dialects.ocm.api.placement import DecisionObject, Placement, decode_decision
from reconciler.dialects.ocm.hub import HubBefore
from reconciler.dialects.ocm.placement_files import (
    Draft,
    PlacementRecord,
    decision_key,
    decode_record,
    draft_of,
    is_edited,
    render_decision,
    render_placement,
    score_texts,
)
from reconciler.dialects.ocm.scheduler.plugins import BALANCE, may_balance, next_end, selected
from reconciler.dialects.ocm.scheduler.schedule import (
    Code,
    DecisionsSoFar,
    Hub,
    SyncVerdict,
    group,
    judge,
    parts_by_cluster,
)
from reconciler.dialects.ocm.view.record import (
    decision_on,
    differs_in_spec,
    placed,
    problem_of,
    score_faults,
    waits_of,
)
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import add, ceiling, earliest, second_after
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Manifest
from reconciler.rebalance.target import MetDemand
from reconciler.schedule.columns import listed
from reconciler.schedule.framework import Mask, positions_of

ENDED_WELL = (Code.SUCCESS, Code.WARNING)  # the one becomes the other when a score runs out


HasMade = Callable[[ObjectKey, ClusterName, datetime], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all placements of a pass are decided from, but for the decisions.

    `resync` is how long after a decision scores alone may cause the next one. `has_made` returns
    whether a cluster reports all that a step gave it of a placement, as available. `pending` is
    what limited rebalances are still moving, `None` where it may be anything.
    """

    hub: Hub
    resync: timedelta
    now: datetime
    has_made: HasMade = lambda *_: False
    pending: frozenset[ObjectKey] | None = frozenset()

    def is_withdrawn(self, key: ObjectKey) -> bool:
        """Return whether nobody asks any more for the move of a placement."""
        return self.pending is not None and key not in self.pending


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOutcome:
    """What one placement becomes.

    Attributes:
        part: Its files, and what they came to.
        objects: Its decisions, for the placements that come after it.
        verdict: What the scheduler says, `None` if it was not asked.
        problem: Why it could not be asked, `""` if it could.
        held_until: When that takes effect, `None` if it does now.
    """

    part: Part
    objects: tuple[DecisionObject, ...]
    verdict: SyncVerdict | None = None
    problem: str = ""
    held_until: datetime | None = None


def decide(
    draft: Draft, demand: RescheduleTrigger | None, decided: DecisionsSoFar, around: Surroundings
) -> PlacementOutcome:
    """Decide one placement.

    It is run when anything but scores differs from what its last run saw, or when a rebalancer
    demands it; then its decisions so far do not count. Scores alone, those that ran out among
    them, take effect once `resync` has gone by since its decisions last changed, so there is at
    most one such move a period.

    Raises:
        UserError: A cluster set cannot be used; everything stays as it is.

    Source: ours; upstream runs at every event and every ten minutes. The period is that of OCM
    enhancement 32.
    """
    own = decided.own(draft.placement)
    hub, now = around.hub, around.now
    key = draft.manifest.key
    withdrawn = demand is None and around.is_withdrawn(key)
    moving = MoveRequest(move_in(draft.status_file), demand, withdrawn)
    if moving.move is not None or moving.stepped is not None:
        stepped = decide_stepped(draft, moving, decided, around)
        if stepped is not None:
            return stepped
        demand = None
    verdict = judge(draft.placement, hub, decided, now, afresh=demand is not None)
    if verdict is None:
        return keep(draft, own)
    record = decode_record(draft.status_file)
    fingerprint = fingerprint_of(draft, verdict, own, hub)
    run = fingerprint != record.digest or demand is not None
    moves = _sorted(verdict.grouped.objects) != _sorted(own)
    expiring = tuple(_expiring(verdict, hub, now))
    until = earliest(
        ceiling(next_end(verdict.request, hub.members, now)), *(moment for _, moment in expiring)
    )
    faults = tuple(score_faults(draft, verdict))
    due = now if record.decided_at is None else add(record.decided_at, around.resync)
    if moves and not run and now < due:
        part = Part(
            outputs=draft.files,
            faults=faults,
            until=earliest(until, due),
            waits=waits_of(draft, verdict, hub.members, expiring, due, now),
        )
        return PlacementOutcome(part=part, objects=own, verdict=verdict, held_until=due)
    following = _following(draft, verdict, decided, around) if moves else None
    if following is not None:
        fingerprint = fingerprint_of(draft, following, verdict.grouped.objects, hub)
    renewed = PlacementRecord(fingerprint, now if moves else record.decided_at)
    outputs = _render(draft, verdict, renewed, around, moves=moves, demand=demand)
    created = demand is None and not draft.files
    part = Part(
        outputs=outputs,
        decision=decision_on(draft, verdict, own, hub, demand, run=run),
        edited=tuple(key for key, body in draft.decisions.items() if is_edited(body)),
        faults=faults,
        rescheduled=demand is not None,
        until=until,
        waits=waits_of(draft, verdict, hub.members, expiring, None, now),
        again=_once_written(draft, outputs, following, around) if created else None,
    )
    return PlacementOutcome(part=part, objects=verdict.grouped.objects, verdict=verdict)


def _once_written(
    draft: Draft,
    outputs: Mapping[ObjectKey, Body],
    following: SyncVerdict | None,
    around: Surroundings,
) -> Part | None:
    """Return the part of a new placement once its files are there, `None` if only a look tells."""
    if following is None:
        return None
    members, now = around.hub.members, around.now
    expiring = tuple(_expiring(following, around.hub, now))
    end = ceiling(next_end(following.request, members, now))
    return Part(
        outputs=outputs,
        faults=tuple(score_faults(draft, following)),
        until=earliest(end, *(moment for _, moment in expiring)),
        waits=waits_of(draft, following, members, expiring, None, now),
    )


def keep(draft: Draft, own: tuple[DecisionObject, ...], problem: str = "") -> PlacementOutcome:
    """Leave a placement's files as they are, perhaps because it cannot be decided."""
    return PlacementOutcome(part=Part(outputs=draft.files), objects=own, problem=problem)


def _sorted(objects: tuple[DecisionObject, ...]) -> list[tuple[object, ...]]:
    """Return decisions in a form in which only what they say counts."""
    return sorted(
        (item.name, tuple(sorted(item.labels)), item.clusters, item.leaving) for item in objects
    )


class ExchangedClusters(NamedTuple):
    """A placement whose clusters are exchanged step by step: those chosen, and those kept."""

    moved: MovedPlacement
    chosen: frozenset[ClusterName]
    kept: frozenset[ClusterName] = frozenset()


def decide_stepped(
    draft: Draft, moving: MoveRequest, decided: DecisionsSoFar, around: Surroundings
) -> PlacementOutcome | None:
    """Decide a placement that is made before it breaks: go on with its step, or begin one.

    Scores alone move nothing meanwhile. Whatever else would run it ends the step, and the next
    round of the pass decides it from there; `None` if it is to be run before a step may begin. A
    placement that is switched off gives back at the deadline, and nothing else.

    Raises:
        UserError: A cluster set cannot be used; everything stays as it is.
    """
    own, hub, now = decided.own(draft.placement), around.hub, around.now
    key = draft.manifest.key
    placement = replace(draft.placement, disabled="")
    verdict = judge(placement, hub, decided, now)
    if verdict is None:
        return keep(draft, own)
    record = decode_record(draft.status_file)
    changed = fingerprint_of(draft, verdict, own, hub) != record.digest
    if changed and moving.move is None:
        return None
    off = bool(draft.placement.disabled)
    exchanged = _exchanged(draft, moving, verdict, own, around, changed=changed, off=off)
    demand = None if off else moving.stepped
    if demand is not None and not changed:
        exchanged = _next_exchange(draft, exchanged, demand, decided, around)
    if off and exchanged.moved.step is None:
        return keep(draft, own)
    moved = exchanged.moved
    after = _listing(draft.placement, verdict, exchanged, hub)
    moves = _sorted(after.grouped.objects) != _sorted(own)
    renewed = PlacementRecord(
        "" if changed else _fingerprint_with(draft, after, decided, around),
        now if moves else record.decided_at,
    )
    waits = waits_of_step(key, f"{key.namespace}/{key.name}", moved.move)
    part = Part(
        outputs=_render(
            draft, after, renewed, around, moves=moves, move=moved.move, demand=moving.stepped
        ),
        decision=decision_on(draft, after, own, hub, moving.stepped, run=changed, moved=moved),
        edited=tuple(key for key, body in draft.decisions.items() if is_edited(body)),
        rescheduled=moved.meets(moving.stepped),
        met=MetDemand(
            moved.left(exchanged.chosen),
            taken=0 if moved.step is None else len(moved.step.taken),
            given_up=moved.given_up,
        ),
        until=earliest(
            *(one.until for one in waits), None if moved.step is None else moved.step.until
        ),
        waits=waits,
    )
    return PlacementOutcome(part=part, objects=after.grouped.objects, verdict=after)


def _exchanged(
    draft: Draft,
    moving: MoveRequest,
    verdict: SyncVerdict,
    own: tuple[DecisionObject, ...],
    around: Surroundings,
    *,
    changed: bool,
    off: bool,
) -> ExchangedClusters:
    """Go on with the step of a placement, whose goal counts no more if anything else runs it."""
    key, names = draft.manifest.key, around.hub.members.fleet
    chosen = frozenset(name for one in own for name in one.clusters)
    move = moving.move
    if move is None:
        return ExchangedClusters(UNMOVED, chosen)
    kept = frozenset(
        name for one in own for name in one.leaving if name in move.kept and name in names.position
    )
    wanted = names.named(clusters_left(move, chosen))
    reachable = not wanted & ~verdict.result.feasible
    is_over = changed or moving.is_ended or not reachable
    began_at = around.now if move.surge is None else move.surge.began_at

    def ready(cluster: ClusterName) -> bool:
        return not off and around.has_made(key, cluster, began_at)

    moved = go_on_exchanging(move, chosen, kept, ready, around.now, interrupted=is_over and not off)
    goes_on, step = moved.move, moved.step
    if goes_on is not None and step is not None:
        if step.surge is None:
            chosen = (chosen - step.returned.keys()) | goes_on.kept
            goes_on = goes_on._replace(kept=frozenset())
        kept = goes_on.kept
        moved = moved._replace(move=goes_on)
    if moved.given_up or (is_over and not off) or not moved.left(chosen):
        reached = not (moved.given_up or is_over)
        moved = moved._replace(move=None, reached=reached)
    return ExchangedClusters(moved, chosen, kept)


def _next_exchange(
    draft: Draft,
    found: ExchangedClusters,
    demand: RescheduleTrigger,
    decided: DecisionsSoFar,
    around: Surroundings,
) -> ExchangedClusters:
    """Begin the next step of what a rebalancer demands, if there is one left to make."""
    moved, move, limits = found.moved, found.moved.move, demand.surge
    if limits is None or (move is not None and move.surge is not None):
        return found
    if not demand.fresh and move is None:
        return found
    goal = frozenset() if move is None else move.goal
    if demand.fresh or move is None:
        fresh = judge(
            draft.placement,
            around.hub,
            decided,
            around.now,
            afresh=True,
            leaving=limits.leaving,
        )
        goal = frozenset() if fresh is None else frozenset(fresh.result.ranked)
        if fresh is None or len(goal) != len(found.chosen) or problem_of(fresh):
            why = "" if fresh is None else problem_of(fresh)
            why = why or f"only {len(goal)} of {len(found.chosen)} clusters can be chosen"
            return found._replace(moved=moved._replace(move=None, given_up=why))
    begun = begin_exchanging(goal, found.chosen, demand, around.now)
    moved = moved._replace(followed=not demand.fresh)
    if begun is None or begun.surge is None:
        return found._replace(moved=moved._replace(move=None))
    chosen = (found.chosen - begun.kept) | begun.surge.clusters
    return ExchangedClusters(moved._replace(move=begun, begun=begun.surge), chosen, begun.kept)


def _listing(
    placement: Placement, verdict: SyncVerdict, found: ExchangedClusters, hub: Hub
) -> SyncVerdict:
    """Return a verdict that lists some clusters as chosen and others as leaving, by group."""
    grouped = group(placement, sorted(found.chosen | found.kept), hub.members)
    objects = tuple(
        replace(
            one,
            clusters=tuple(name for name in one.clusters if name in found.chosen),
            leaving=tuple(name for name in one.clusters if name not in found.chosen),
        )
        for one in grouped.objects
    )
    groups = tuple(
        replace(one, clusters=tuple(name for name in one.clusters if name in found.chosen))
        for one in grouped.groups
    )
    position = hub.members.fleet.position
    picked = tuple(sorted(position[name] for name in found.chosen if name in position))
    names = tuple(sorted(found.chosen))
    return replace(
        verdict,
        result=replace(verdict.result, ranked=names, picked=picked),
        grouped=replace(grouped, groups=groups, objects=objects),
    )


def _fingerprint_with(
    draft: Draft, after: SyncVerdict, decided: DecisionsSoFar, around: Surroundings
) -> str:
    """Return the digest of what a run would depend on that finds these decisions."""
    objects = after.grouped.objects
    verdict = _judged_with(objects, draft, decided, around)
    return fingerprint_of(draft, after if verdict is None else verdict, objects, around.hub)


def _following(
    draft: Draft, verdict: SyncVerdict, decided: DecisionsSoFar, around: Surroundings
) -> SyncVerdict | None:
    """Return the verdict of the next round, `None` where that may decide otherwise.

    A run depends on the decisions of the one before, so the digest of what it saw itself would
    have the next round run again only to write another one. Where decisions of others count for
    the choice, that round has to choose by what they are then.
    """
    result, objects = verdict.result, verdict.grouped.objects
    takes_all = len(result.picked) == result.feasible.bit_count()
    if may_balance(draft.placement) and not takes_all:
        return None
    following = _judged_with(objects, draft, decided, around)
    if following is None or _sorted(following.grouped.objects) != _sorted(objects):
        return None
    return following


def _judged_with(
    objects: tuple[DecisionObject, ...],
    draft: Draft,
    decided: DecisionsSoFar,
    around: Surroundings,
) -> SyncVerdict | None:
    """Return the verdict on a placement that has these decisions."""
    owner = (draft.manifest.key.namespace, draft.manifest.key.name)
    before = decided.own(draft.placement)
    decided.put(owner, objects)
    verdict = judge(replace(draft.placement, disabled=""), around.hub, decided, around.now)
    decided.put(owner, before)
    return verdict


def fingerprint_of(
    draft: Draft, verdict: SyncVerdict, own: tuple[DecisionObject, ...], hub: Hub
) -> str:
    """Return the digest of all that a run depends on, but for Balance and the scores of add-ons."""
    result, names = verdict.result, hub.members.fleet.names
    status = verdict.status
    lasting = [
        [item.name, _shown(item.scores, result.feasible)]
        for item in result.scored
        if item.name != BALANCE and not item.name.startswith("AddOn/")
    ]
    groups = [
        [names[i] for i in positions_of(Mask(mask & result.feasible))]
        for mask in _group_masks(draft.placement, verdict, hub)
    ]
    return digest(
        [
            mapping(draft.manifest.body, "spec"),
            [verdict.offer.bound, list(verdict.offer.eligible), bool(verdict.offer.clusters)],
            [] if status.code in ENDED_WELL else [status.code, status.plugin, status.message],
            [names[position] for position in positions_of(result.feasible)],
            [[item.name, list(item.clusters)] for item in sorted(own, key=lambda one: one.name)],
            lasting,
            groups,
        ]
    )


def _shown(scores: Scores, feasible: Mask) -> list[int | None]:
    """Return the scores of the feasible clusters, `None` for those without one."""
    silent = set(positions_of(scores.silent))
    positions, shown = positions_of(feasible), listed(scores.column)
    return [None if i in silent else s for i, s in zip(positions, shown, strict=True)]


def _group_masks(placement: Placement, verdict: SyncVerdict, hub: Hub) -> list[Mask]:
    """Return the clusters of each decision group, none if the groups cannot be made."""
    if verdict.grouped.problem:
        return []
    return [selected(rule.selector, hub.members) for rule in placement.groups]


def _expiring(verdict: SyncVerdict, hub: Hub, now: datetime) -> Iterator[tuple[str, datetime]]:
    """Yield the scores that count and run out, each with the moment at which it has run out."""
    request = verdict.request
    resources = {
        item.coordinate.add_on.resource_name
        for item in request.placement.configurations
        if item.weight and item.coordinate is not None and item.coordinate.add_on is not None
    }
    offered = positions_of(request.candidates) if resources else ()
    for cluster in (hub.members.fleet.names[position] for position in offered):
        for resource in sorted(resources):
            report = request.reports.get((cluster, resource))
            until = None if report is None else report.valid_until
            over_at = second_after(until) if until is not None and until >= now else None
            if over_at is not None:
                yield f"the score {resource} of {cluster}", over_at


def _render(
    draft: Draft,
    verdict: SyncVerdict,
    record: PlacementRecord,
    around: Surroundings,
    *,
    moves: bool,
    move: SteppedMove | None = None,
    demand: RescheduleTrigger | None = None,
) -> dict[ObjectKey, Body]:
    """Return the files of a placement; `move` is what is under way, `None` for nothing."""
    owner, now = draft.manifest.key, around.now
    present = draft.status_file
    before = placed(tuple(map(decode_decision, draft.decisions.values())))
    made = last_move_of(demand, before, placed(verdict.grouped.objects), move, now)
    files = {owner: render_placement(draft.manifest, present, verdict, record, now, move, made)}
    parts = parts_by_cluster(verdict.result, around.hub.members)
    for decision_object in verdict.grouped.objects:
        key = decision_key(decision_object)
        present = draft.decisions.get(key)
        scores = score_texts(decision_object, present, parts, renew=moves)
        files[key] = render_decision(decision_object, owner, present, scores, now)
    return files


@dataclass(frozen=True, slots=True)
class PlacementInTurn:
    """A placement with everything that differs, or with a part of that."""

    draft: Draft
    demand: RescheduleTrigger | None
    decided: DecisionsSoFar
    around: Surroundings

    def decision(self) -> Decision | None:
        """Decide it."""
        return decide(self.draft, self.demand, self.decided, self.around).part.decision


PlacementDifference = Difference[PlacementInTurn]


def with_causes(
    part: Part, question: PlacementInTurn, earlier: Manifest | None, before: HubBefore
) -> Part:
    """Return a part whose decision names all that it took.

    Args:
        part: What the placement becomes.
        question: From what that was decided.
        earlier: The placement as it was at the last pass, `None` if it is the same or new, or if
            that is not known.
        before: What of the hub is not as it was.
    """
    decision = part.decision
    if decision is None or not is_explained(decision):
        return part
    trials = Trials(decision, question, PlacementInTurn.decision)
    hub = tuple(_of_hub(before))
    if question.draft.status_file is None:
        causes = [decision.cause, *beside_creation(trials, hub)]
        return part._replace(decision=with_cause(decision, causes))
    own = tuple(_differences(question, earlier, decision))
    unknown = earlier is None and differs_in_spec(question.draft)
    if unknown:  # what it was is lost with the history
        own = (*own, Difference(_changed(question.draft), lambda same: same, told=True))
    differ = (*own, *_as_told(trials, own, hub))
    causes = list(causes_of(trials, differ)) if differ else []
    return part._replace(decision=with_cause(decision, causes, by_hand=bool(part.edited)))


def _as_told(
    trials: Trials[PlacementInTurn],
    own: tuple[PlacementDifference, ...],
    hub: tuple[PlacementDifference, ...],
) -> Iterator[PlacementDifference]:
    """Yield the differences of the hub, those of clusters as a decision tells of them alone."""
    for edit in hub:
        others = (*own, *(other for other in hub if other is not edit))
        alone = trials.without(others)
        evicted = alone is not None and alone.cause.kind is CauseKind.EVICTED
        if alone is not None and evicted and edit.cause.kind is CauseKind.CLUSTERS_CHANGED:
            yield replace(edit, cause=of_touched(alone.cause, alone, edit.cause.sources))
        else:
            yield edit


def _differences(
    question: PlacementInTurn, earlier: Manifest | None, decision: Decision
) -> Iterator[PlacementDifference]:
    """Yield who asks, and of steps how far they are, and that the placement is not as it was."""
    demand, draft = question.demand, question.draft
    if demand is not None:
        plain = Cause(CauseKind.REBALANCED, demand.by, sources=demand.askers)
        yield Difference(
            plain if decision.begun is None else decision.cause,
            lambda asked: replace(asked, demand=None),
            told=True,
        )
    if earlier is None:
        return
    was = draft_of(earlier, draft.status_file, draft.decisions, frozen=draft.frozen).placement
    if was.disabled and not draft.placement.disabled:
        yield Difference(
            Cause(CauseKind.RESUMED, sources=(draft.manifest.key,)),
            lambda asked: _with_placement(asked, disabled=was.disabled),
        )
    spec = earlier.body.get("spec")
    if spec != draft.manifest.body.get("spec"):
        manifest = replace(draft.manifest, held={**draft.manifest.body, "spec": spec})
        yield Difference(_changed(draft), lambda asked: _with_manifest(asked, manifest))


def _with_placement(asked: PlacementInTurn, *, disabled: str) -> PlacementInTurn:
    """Return the question of a placement that is switched off, or is not."""
    placement = replace(asked.draft.placement, disabled=disabled)
    return replace(asked, draft=replace(asked.draft, placement=placement))


def _with_manifest(asked: PlacementInTurn, manifest: Manifest) -> PlacementInTurn:
    """Return the question of a placement as it was written, switched off if it is."""
    draft, disabled = asked.draft, asked.draft.placement.disabled
    was = draft_of(manifest, draft.status_file, draft.decisions, frozen=draft.frozen)
    return _with_placement(replace(asked, draft=was), disabled=disabled)


def _changed(draft: Draft) -> Cause:
    return Cause(CauseKind.PLACEMENT_CHANGED, sources=(draft.manifest.key,))


def _of_hub(before: HubBefore) -> Iterator[PlacementDifference]:
    """Yield what of the hub is not as it was."""
    clusters, scores = before.clusters, before.scores

    def with_hub(asked: PlacementInTurn, hub: Hub) -> PlacementInTurn:
        return replace(asked, around=replace(asked.around, hub=hub))

    if clusters is not None:
        yield Difference(
            Cause(CauseKind.CLUSTERS_CHANGED, sources=clusters.keys),
            lambda asked: with_hub(asked, replace(clusters(), reports=asked.around.hub.reports)),
        )
    if scores is not None:
        yield Difference(
            Cause(CauseKind.SCORES_CHANGED, sources=scores.keys),
            lambda asked: with_hub(asked, replace(asked.around.hub, reports=scores())),
        )
