"""What a pass records of one placement: from where to where, why, and what it waits for.

Scores that are not reported are warnings. Waits are scores that take effect later, and tolerations
and scores that end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.dialects.cluster_steps import UNMOVED, MovedPlacement
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.ocm.api.cluster import Members
from reconciler.dialects.ocm.api.placement import DecisionObject
from reconciler.dialects.ocm.placement_files import Draft, is_edited
from reconciler.dialects.ocm.scheduler.plugins import tolerance
from reconciler.dialects.ocm.scheduler.schedule import SATISFIED, Hub, SyncVerdict, parts_by_cluster
from reconciler.errors import UserError
from reconciler.manifests.admission import SPEC_DIGEST, digest
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision, Placed, Wait
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import ceiling
from reconciler.model.world import Fault, Manifest
from reconciler.schedule.framework import Mask, positions_of

MOST_NAMES = 3  # ours: so few that the fault seldom changes, as each change is a commit


def decision_on(
    draft: Draft,
    verdict: SyncVerdict,
    own: tuple[DecisionObject, ...],
    hub: Hub,
    demand: RescheduleTrigger | None,
    *,
    run: bool,
    moved: MovedPlacement = UNMOVED,
) -> Decision | None:
    """Return what moved, what was rebalanced, or what is newly wrong; `None` if nothing of these.

    Args:
        draft: The placement and its files so far.
        verdict: What it is to be.
        own: Its decisions so far.
        hub: What it was decided from.
        demand: The rebalancer's trigger, `None` without one.
        run: Whether more than scores differs from what its last run saw.
        moved: What became of a move that is made before it breaks.
    """
    demand = None if moved.given_up and moved.step is None else demand
    before, after = placed(own), placed(verdict.grouped.objects)
    problem = problem_of(verdict)
    news = problem and problem != known_problem(draft.status_file)
    if before == after and not news and demand is None and not moved.news:
        return None
    names = hub.members.fleet.names
    rejected = {
        names[position]: str(rejection.reason)
        for rejection in verdict.result.rejections
        for position in positions_of(rejection.clusters)
    }
    vacated = [name for name, _ in before if (name, 0) not in after and name in rejected]
    parts = parts_by_cluster(verdict.result, hub.members)
    key = draft.manifest.key
    return Decision(
        key=key,
        subject=f"{key.namespace}/{key.name}",
        cause=_cause(draft, vacated, rejected, demand, run=run, moved=moved),
        before=before,
        after=after,
        problem=problem,
        rejected={name: rejected[name] for name in sorted(rejected)},
        scores={name: parts[name] for name, _ in after if name in parts or not moved.news},
        begun=moved.started,
        given_back=moved.given_back,
    )


def record_removal(key: ObjectKey, decided: Iterable[DecisionObject]) -> Decision:
    """Return the decision on a placement that is gone, given decisions of any."""
    owner = (key.namespace, key.name)
    return Decision(
        key=key,
        subject=f"{key.namespace}/{key.name}",
        cause=Cause(CauseKind.REMOVED),
        before=placed(tuple(one for one in decided if one.owner == owner)),
        after=(),
        removed=True,
    )


def placed(objects: tuple[DecisionObject, ...]) -> Placed:
    """Return the clusters of decisions by name; there are no replicas."""
    return tuple((name, 0) for name in sorted({name for item in objects for name in item.clusters}))


def problem_of(verdict: SyncVerdict) -> str:
    """Return what keeps a placement from all its clusters, `""` if it has them."""
    return next(
        (c.message for c in verdict.conditions if c.type == SATISFIED and c.status == "False"), ""
    )


def known_problem(status_file: Body | None) -> str:
    """Return what the status of a placement complains about so far, `""` for nothing."""
    for condition in bodies(mapping(status_file or {}, "status"), "conditions"):
        if condition.get("type") == SATISFIED and condition.get("status") == "False":
            return text(condition, "message")
    return ""


def _cause(
    draft: Draft,
    vacated: list[ClusterName],
    rejected: Mapping[ClusterName, str],
    demand: RescheduleTrigger | None,
    *,
    run: bool,
    moved: MovedPlacement,
) -> Cause:
    """Return why a placement moved; a rebalancer comes first, but for the first placement.

    Clusters and scores are told where nothing else happened to it.
    """
    if draft.status_file is None:
        return Cause(
            CauseKind.CREATED, "" if demand is None else demand.by, sources=(draft.manifest.key,)
        )
    said = f"; {moved.news}" if moved.news else ""
    if demand is not None:
        return Cause(CauseKind.REBALANCED, f"{demand.by}{said}", sources=demand.askers)
    if any(map(is_edited, draft.decisions.values())):
        return Cause(CauseKind.EDITED)
    if differs_in_spec(draft):
        return Cause(CauseKind.PLACEMENT_CHANGED, sources=(draft.manifest.key,))
    if said:
        return Cause(CauseKind.REBALANCED, f"{moved.by}{said}")
    if vacated:
        return Cause(CauseKind.EVICTED, ", ".join(f"{name}: {rejected[name]}" for name in vacated))
    return Cause(CauseKind.CLUSTERS_CHANGED if run else CauseKind.SCORES_CHANGED)


def differs_in_spec(draft: Draft) -> bool:
    """Return whether a placement is not the one that its last run saw."""
    annotations = mapping(mapping(draft.status_file or {}, "metadata"), "annotations")
    return text(annotations, SPEC_DIGEST) != digest(mapping(draft.manifest.body, "spec"))


def score_faults(draft: Draft, verdict: SyncVerdict) -> Iterator[Fault]:
    """Yield a warning for each score that counts as 0 since it is not reported, or not any longer.

    A fault stands as long as they are not there, and it names the first clusters only, so that it
    is written once.

    Source: OCM enhancement 32, "What if no valid score is generated?"; that it is told is ours.
    """
    for scored in verdict.result.scored:
        expired = [ClusterName(text.partition("/")[0]) for text in scored.scores.expired]
        for names, what, rule in (
            (scored.scores.missing, "is not reported", "score-missing"),
            (expired, "has run out", "score-expired"),
        ):
            if names:
                yield Fault(
                    path=draft.manifest.origin.path,
                    line=0,
                    column=0,
                    field="/spec/prioritizerPolicy/configurations",
                    rule=rule,
                    message=f"the score {scored.name} {what} for {_some(names)}, it counts as 0",
                    expected="a valid AddOnPlacementScore in the namespace of each cluster",
                    subject=str(draft.manifest.key),
                )


def _some(names: Sequence[ClusterName]) -> str:
    """Return the first names, and whether there are more."""
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and others" if len(names) > MOST_NAMES else shown


def undecided(manifest: Manifest, error: UserError) -> Fault:
    """Turn what keeps a placement from being decided into a fault."""
    return Fault(
        path=manifest.origin.path,
        line=0,
        column=0,
        field=error.field,
        rule="placement-undecided",
        message=f"the placement keeps its decisions: {error.message}",
        expected="cluster sets whose selectors can be used",
        subject=str(manifest.key),
    )


HELD = "scores changed, and its decisions stay"


def waits_of(
    draft: Draft,
    verdict: SyncVerdict,
    members: Members,
    expiring: tuple[tuple[str, datetime], ...],
    held_until: datetime | None,
    now: datetime,
) -> tuple[Wait, ...]:
    """Return what a placement waits for.

    Args:
        draft: The placement.
        verdict: What the scheduler says of it.
        members: The clusters.
        expiring: The scores that count, in words, each with the moment at which it has run out.
        held_until: When changed scores take effect, `None` if nothing holds them back.
        now: Moment of the pass.
    """
    key = draft.manifest.key
    waits = [(moment, f"{score} is valid", "") for score, moment in expiring]
    if held_until is not None:
        waits.append((held_until, HELD, "it may move"))
    for name, taints, until in _tolerated(verdict, members, now):
        waits.append((until, f"{name} has {taints} and is tolerated", f"it leaves {name}"))
    subject = f"{key.namespace}/{key.name}"
    return tuple(
        Wait(until=until, key=key, subject=subject, reason=reason, then=then)
        for until, reason, then in waits
    )


def _tolerated(
    verdict: SyncVerdict, members: Members, now: datetime
) -> Iterator[tuple[ClusterName, str, datetime]]:
    """Yield the decided clusters whose taints are tolerated for a while."""
    tolerations, decided = verdict.request.placement.tolerations, verdict.request.decided
    for taints, carriers in members.fleet.by_taints.items():
        clusters = Mask(carriers & decided)
        if clusters and taints:
            until = ceiling(tolerance(taints, tolerations, decided=True, now=now).until)
            if until is not None:
                taint_names = ", ".join(f"the taint {taint}" for taint in taints)
                names = (members.fleet.names[position] for position in positions_of(clusters))
                yield from ((name, taint_names, until) for name in names)
