"""One placement in a pass: whether it is run, what it becomes, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.dialects.ocm.decisions import Decided, DecisionObject
from reconciler.dialects.ocm.filter_predicates import selected
from reconciler.dialects.ocm.filter_taints import next_end
from reconciler.dialects.ocm.placement import Placement
from reconciler.dialects.ocm.record import (
    Record,
    decision_key,
    decode_record,
    is_edited,
    render_decision,
    render_placement,
)
from reconciler.dialects.ocm.request import Scores
from reconciler.dialects.ocm.schedule import Code
from reconciler.dialects.ocm.verdict import SATISFIED, Hub, Verdict, judge
from reconciler.dialects.ocm.weights import BALANCE
from reconciler.manifests.admission import SPEC_DIGEST, digest
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import earliest
from reconciler.model.world import Body, Manifest
from reconciler.schedule.framework import Mask, positions_of

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A placement and its files so far; `status_file` is `None` before the first pass."""

    manifest: Manifest
    placement: Placement
    status_file: Body | None
    decisions: Mapping[ObjectKey, Body]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one placement becomes.

    `objects` are its decisions, for the placements that come after it. `decision` is `None` where
    nothing moved and nothing is newly wrong.
    """

    bodies: Mapping[ObjectKey, Body]
    objects: tuple[DecisionObject, ...]
    decision: Decision | None = None
    edited: tuple[ObjectKey, ...] = ()
    until: datetime | None = None


def decide(draft: Draft, hub: Hub, decided: Decided, resync: timedelta, now: datetime) -> Outcome:
    """Decide one placement.

    It is run when anything but scores differs from what its last run saw, or when a score of that
    run has run out. Other scores alone take effect once `resync` has gone by since its decisions
    last changed, so there is at most one such move a period.

    Raises:
        UserError: A cluster set cannot be used; everything stays as it is.

    Source: ours; upstream runs at every event and every ten minutes. The period is that of OCM
    enhancement 32.
    """
    own = decided.own(draft.placement)
    verdict = judge(draft.placement, hub, decided, now)
    if verdict is None:
        return keep(draft, own)
    record = decode_record(draft.status_file)
    fingerprint = _fingerprint(draft, verdict, own, hub)
    expired = record.scores_until is not None and now >= record.scores_until
    run = fingerprint != record.digest or expired
    moves = _sorted(verdict.grouped.objects) != _sorted(own)
    next_expiry = _next_expiry(verdict, now)
    until = earliest(_ceiling(next_end(verdict.request, hub.members, now)), next_expiry)
    due = now if record.decided_at is None else record.decided_at + resync
    if moves and not run and now < due:
        return keep(draft, own, earliest(until, due, record.scores_until))
    renewed = Record(
        digest=fingerprint,
        decided_at=now if moves else record.decided_at,
        scores_until=next_expiry if run else record.scores_until,
    )
    return Outcome(
        bodies=_render(draft, verdict, renewed, now),
        objects=verdict.grouped.objects,
        decision=_decision(draft, verdict, own, hub, run=run),
        edited=tuple(key for key, body in draft.decisions.items() if is_edited(body)),
        until=earliest(until, renewed.scores_until),
    )


def keep(draft: Draft, own: tuple[DecisionObject, ...], until: datetime | None = None) -> Outcome:
    """Leave a placement's files as they are."""
    kept = dict(draft.decisions)
    if draft.status_file is not None:
        kept[draft.manifest.key] = draft.status_file
    return Outcome(bodies=kept, objects=own, until=until)


def _sorted(objects: tuple[DecisionObject, ...]) -> list[tuple[object, ...]]:
    """Return decisions in a form in which only what they say counts."""
    return sorted((item.name, tuple(sorted(item.labels)), item.clusters) for item in objects)


def _fingerprint(draft: Draft, verdict: Verdict, own: tuple[DecisionObject, ...], hub: Hub) -> str:
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
            [] if status.code is Code.WARNING else [status.code, status.plugin, status.message],
            [names[position] for position in positions_of(result.feasible)],
            [[item.name, list(item.clusters)] for item in sorted(own, key=lambda one: one.name)],
            lasting,
            groups,
        ]
    )


def _shown(scores: Scores, feasible: Mask) -> list[int | None]:
    """Return the scores of the feasible clusters, `None` for those without one."""
    silent = set(positions_of(scores.silent))
    positions = positions_of(feasible)
    return [None if i in silent else s for i, s in zip(positions, scores.column, strict=True)]


def _group_masks(placement: Placement, verdict: Verdict, hub: Hub) -> list[Mask]:
    """Return the clusters of each decision group, none if the groups cannot be made."""
    if verdict.grouped.problem:
        return []
    return [selected(rule.selector, hub.members) for rule in placement.groups]


def _next_expiry(verdict: Verdict, now: datetime) -> datetime | None:
    """Return the first moment at which a score that counts has run out, `None` if none will."""
    request = verdict.request
    resources = {
        item.coordinate.add_on.resource_name
        for item in request.placement.configurations
        if item.weight and item.coordinate is not None and item.coordinate.add_on is not None
    }
    if not resources:
        return None
    ends = (
        report.valid_until.replace(microsecond=0) + SECOND
        for (_, resource), report in request.reports.items()
        if resource in resources and report.valid_until is not None and report.valid_until >= now
    )
    return earliest(*ends)


def _ceiling(moment: datetime | None) -> datetime | None:
    """Return the first whole second that is not before a moment."""
    if moment is None or not moment.microsecond:
        return moment
    return moment.replace(microsecond=0) + SECOND


def _render(draft: Draft, verdict: Verdict, record: Record, now: datetime) -> dict[ObjectKey, Body]:
    """Return the files of a placement."""
    owner = draft.manifest.key
    files = {owner: render_placement(draft.manifest, draft.status_file, verdict, record, now)}
    for item in verdict.grouped.objects:
        key = decision_key(item)
        files[key] = render_decision(item, owner, draft.decisions.get(key), now)
    return files


def placed(objects: tuple[DecisionObject, ...]) -> Placed:
    """Return the clusters of decisions by name; there are no replicas."""
    return tuple((name, 0) for name in sorted({name for item in objects for name in item.clusters}))


def _decision(
    draft: Draft, verdict: Verdict, own: tuple[DecisionObject, ...], hub: Hub, *, run: bool
) -> Decision | None:
    """Tell what moved, or what is newly wrong; `None` if neither."""
    before, after = placed(own), placed(verdict.grouped.objects)
    problem = _problem(verdict)
    if before == after and (not problem or problem == _known_problem(draft.status_file)):
        return None
    names = hub.members.fleet.names
    rejected = {
        names[position]: str(rejection.reason)
        for rejection in verdict.result.rejections
        for position in positions_of(rejection.clusters)
    }
    left = [name for name, _ in before if (name, 0) not in after and name in rejected]
    key = draft.manifest.key
    return Decision(
        key=key,
        subject=f"{key.namespace}/{key.name}",
        cause=_cause(draft, left, rejected, run=run),
        before=before,
        after=after,
        problem=problem,
        rejected={name: rejected[name] for name in sorted(rejected)},
    )


def _problem(verdict: Verdict) -> str:
    """Return what keeps a placement from all its clusters, `""` if it has them."""
    return next(
        (c.message for c in verdict.conditions if c.type == SATISFIED and c.status == "False"), ""
    )


def _known_problem(status_file: Body | None) -> str:
    """Return what the status complains about so far."""
    for condition in bodies(mapping(status_file or {}, "status"), "conditions"):
        if condition.get("type") == SATISFIED and condition.get("status") == "False":
            return text(condition, "message")
    return ""


def _cause(
    draft: Draft, left: list[ClusterName], rejected: Mapping[ClusterName, str], *, run: bool
) -> Cause:
    """Return why a placement moved."""
    if draft.status_file is None:
        return Cause(CauseKind.CREATED)
    annotations = mapping(mapping(draft.status_file, "metadata"), "annotations")
    if any(map(is_edited, draft.decisions.values())):
        return Cause(CauseKind.EDITED)
    if text(annotations, SPEC_DIGEST) != digest(mapping(draft.manifest.body, "spec")):
        return Cause(CauseKind.PLACEMENT_CHANGED)
    if left:
        return Cause(CauseKind.EVICTED, ", ".join(f"{name}: {rejected[name]}" for name in left))
    return Cause(CauseKind.CLUSTERS_CHANGED if run else CauseKind.SCORES_CHANGED)
