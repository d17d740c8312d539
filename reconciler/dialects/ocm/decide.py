"""One placement in a pass: whether it is run, what it becomes, and why it moved.

Its causes are what of it, of the clusters and of the scores is not as it was.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from reconciler.dialects.causes import (
    Difference,
    Trials,
    beside_creation,
    causes_of,
    is_explained,
    of_touched,
    with_cause,
)
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.object_pass import Part
from reconciler.dialects.ocm.api.cluster import Scores
from reconciler.dialects.ocm.api.placement import DecisionObject, Placement
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
from reconciler.dialects.ocm.scheduler.plugins import BALANCE, next_end, selected
from reconciler.dialects.ocm.scheduler.schedule import (
    Code,
    DecisionsSoFar,
    Hub,
    SyncVerdict,
    judge,
    parts_by_cluster,
)
from reconciler.dialects.ocm.view.record import decision_on, differs_in_spec, score_faults, waits_of
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, ceiling, earliest, second_after
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Manifest
from reconciler.schedule.columns import listed
from reconciler.schedule.framework import Mask, positions_of

ENDED_WELL = (Code.SUCCESS, Code.WARNING)  # the one becomes the other when a score runs out


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all placements of a pass are decided from, but for the decisions.

    `resync` is how long after a decision scores alone may cause the next one.
    """

    hub: Hub
    resync: timedelta
    now: datetime


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
    renewed = PlacementRecord(fingerprint, now if moves else record.decided_at)
    part = Part(
        outputs=_render(draft, verdict, renewed, around, moves=moves),
        decision=decision_on(draft, verdict, own, hub, demand, run=run),
        edited=tuple(key for key, body in draft.decisions.items() if is_edited(body)),
        faults=faults,
        rescheduled=demand is not None,
        until=until,
        waits=waits_of(draft, verdict, hub.members, expiring, None, now),
    )
    return PlacementOutcome(part=part, objects=verdict.grouped.objects, verdict=verdict)


def keep(draft: Draft, own: tuple[DecisionObject, ...], problem: str = "") -> PlacementOutcome:
    """Leave a placement's files as they are, perhaps because it cannot be decided."""
    return PlacementOutcome(part=Part(outputs=draft.files), objects=own, problem=problem)


def _sorted(objects: tuple[DecisionObject, ...]) -> list[tuple[object, ...]]:
    """Return decisions in a form in which only what they say counts."""
    return sorted((item.name, tuple(sorted(item.labels)), item.clusters) for item in objects)


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
) -> dict[ObjectKey, Body]:
    """Return the files of a placement."""
    owner, now = draft.manifest.key, around.now
    files = {owner: render_placement(draft.manifest, draft.status_file, verdict, record, now)}
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
    own = tuple(_differences(question, earlier))
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
    question: PlacementInTurn, earlier: Manifest | None
) -> Iterator[PlacementDifference]:
    """Yield who asks, and that the placement is not as it was."""
    demand, draft = question.demand, question.draft
    if demand is not None:
        yield Difference(
            Cause(CauseKind.REBALANCED, demand.by, sources=demand.askers),
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
