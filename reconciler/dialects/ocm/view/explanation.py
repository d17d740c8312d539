"""Why a placement is where it is, and why a set is on a cluster or is not yet.

A placement is explained from the verdict that scheduling returned. A set is explained by rollout:
who has the present template, who waits for whom. It waits for a cluster that must have succeeded
for a while, or may take a while.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.ocm.api.cluster import Members
from reconciler.dialects.ocm.api.placement import Placement
from reconciler.dialects.ocm.decide import PlacementOutcome
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    ReplicaSet,
    rollout_status,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.reports import ReportedWork
from reconciler.dialects.ocm.manifestworkreplicaset.sync import DecidedPlacement, SetDecision
from reconciler.dialects.ocm.placement_files import Draft
from reconciler.dialects.ocm.rollout import RolloutStatus
from reconciler.dialects.ocm.scheduler.plugins import PROFILE
from reconciler.dialects.ocm.scheduler.schedule import Code, SyncVerdict, parts_by_cluster
from reconciler.errors import Misconfigured, UserError
from reconciler.model.decision import ClusterAnswer, ClusterVerdict, Explanation, Wait, total_of
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import ceiling, format_moment
from reconciler.model.records import replace
from reconciler.schedule.columns import listed
from reconciler.schedule.framework import Mask, positions_of, remedy_of, run_every_filter

SETS = "ManagedClusterSet"
OUTSIDE = "cluster(s) in no ManagedClusterSet that the placement may choose from"
LEAVING = "cluster(s) being deleted"


def explain(
    draft: Draft,
    outcome: PlacementOutcome,
    demand: RescheduleTrigger | None,
    members: Members,
    now: datetime,
) -> Explanation:
    """Explain a placement by its outcome; the filters are asked once more, for every cluster.

    Args:
        draft: The placement.
        outcome: What the pass made of it.
        demand: The rebalancer's trigger, `None` without one.
        members: The clusters it was decided from.
        now: Moment of the pass.
    """
    verdict = outcome.verdict
    names = members.fleet.names
    decided = {name for item in outcome.objects for name in item.clusters}
    answers = {name: ClusterAnswer(cluster=name, picked=name in decided) for name in names}
    if verdict is not None:
        answers = dict(_answers(verdict, members, now))
    if demand is not None and demand.surge is not None:
        told = ClusterVerdict(
            "", f"{demand.by} leaves it", f"be taken out of `leaving` of {demand.by}"
        )
        for name in demand.surge.leaving & answers.keys():
            verdicts = (told, *answers[name].verdicts)
            answers[name] = replace(answers[name], picked=False, verdicts=verdicts)
    key = draft.manifest.key
    return Explanation(
        key=key,
        subject=f"{key.namespace}/{key.name}",
        question=_question(draft.placement),
        result=_result(draft.placement, outcome),
        clusters=tuple(answers[name] for name in names),
        judged=verdict is not None,
        steps=tuple(_steps(draft.placement, outcome, demand, members)),
    )


def _answers(
    verdict: SyncVerdict, members: Members, now: datetime
) -> Iterator[tuple[ClusterName, ClusterAnswer]]:
    """Yield what scheduling says of each cluster."""
    result, names = verdict.result, members.fleet.names
    verdicts = _verdicts(verdict, members, now)
    parts = parts_by_cluster(result, members)
    rank = {position: number for number, position in enumerate(listed(result.order), start=1)}
    picked = frozenset(result.ranked)
    notes = _notes(verdict)
    for position, name in enumerate(names):
        scores = parts.get(name)
        yield (
            name,
            ClusterAnswer(
                cluster=name,
                verdicts=verdicts[position],
                scores=scores or (),
                total=None if scores is None else total_of(scores),
                rank=rank.get(position),
                picked=name in picked,
                note="; ".join(notes.get(name, ())),
            ),
        )


def _verdicts(
    verdict: SyncVerdict, members: Members, now: datetime
) -> list[tuple[ClusterVerdict, ...]]:
    """Return every rule against each cluster: the offer of the sets, then each filter."""
    verdicts: list[list[ClusterVerdict]] = [[] for _ in members.fleet.names]
    fleet, request = members.fleet, verdict.request
    for position in positions_of(Mask(fleet.all & ~request.candidates)):
        leaving = fleet.deleting >> position & 1
        verdicts[position].append(_not_offered(verdict, leaving=bool(leaving)))
    everyone = replace(request, candidates=fleet.all)
    for name, reject in PROFILE.filters.items():
        try:
            rejections = run_every_filter({name: reject}, everyone, members, fleet.all, now)
        except Misconfigured:
            continue  # the result says so, for all clusters
        for rejection in rejections:
            reason = str(rejection.reason)
            for position in positions_of(rejection.clusters):
                remedy = remedy_of(rejection, position)
                verdicts[position].append(ClusterVerdict(name, reason, remedy))
    return [tuple(one) for one in verdicts]


def _not_offered(verdict: SyncVerdict, *, leaving: bool) -> ClusterVerdict:
    """Return why a cluster is not among those to choose from."""
    if leaving:
        return ClusterVerdict(SETS, LEAVING, "exist for good, not be deleted")
    eligible = verdict.offer.eligible
    if not eligible:
        return ClusterVerdict(
            SETS, OUTSIDE, "bind its ManagedClusterSet in the placement's namespace"
        )
    return ClusterVerdict(SETS, OUTSIDE, f"belong to {_listed('the ManagedClusterSet', eligible)}")


def _notes(verdict: SyncVerdict) -> Mapping[ClusterName, list[str]]:
    """Return which scores of add-ons count as 0, and why."""
    notes: dict[ClusterName, list[str]] = {}
    for scored in verdict.result.scored:
        for name in scored.scores.missing:
            notes.setdefault(name, []).append(f"{scored.name} is not reported, counts as 0")
        for score in scored.scores.expired:
            name = ClusterName(score.partition("/")[0])
            notes.setdefault(name, []).append(f"{scored.name} has run out, counts as 0")
    return notes


def _question(placement: Placement) -> str:
    """Return what the placement asks for."""
    number = placement.number_of_clusters
    what = "every cluster that fits" if number is None else f"the best {number} clusters"
    what = "the best cluster" if number == 1 else what
    if not placement.cluster_sets:
        return what
    return f"{what} of {_listed('the ManagedClusterSet', placement.cluster_sets)}"


def _result(placement: Placement, outcome: PlacementOutcome) -> str:
    """Return upstream's sentence: what is misconfigured, else what is satisfied or not."""
    verdict = outcome.verdict
    if verdict is None:
        if outcome.problem:
            return f"the placement keeps its decisions: {outcome.problem}"
        cause = "it is being deleted" if placement.deleting else f"{placement.disabled} is true"
        return f"nothing is scheduled, since {cause}"
    misconfigured, satisfied = verdict.conditions
    return misconfigured.message if misconfigured.status == "True" else satisfied.message


def _steps(
    placement: Placement,
    outcome: PlacementOutcome,
    demand: RescheduleTrigger | None,
    members: Members,
) -> Iterator[str]:
    """Return the run step by step."""
    verdict = outcome.verdict
    if verdict is None:
        return
    result, offer = verdict.result, verdict.offer
    if demand is not None:
        yield f"{demand.by}: the decisions so far do not count"
    offered, everyone = offer.clusters.bit_count(), len(members.fleet.names)
    if offer.eligible:
        sets = _listed("ManagedClusterSet", offer.eligible)
        yield f"{offered} of {_clusters(everyone)} {_are(offered)} offered by {sets}"
    else:
        yield "no ManagedClusterSet is bound in the placement's namespace, so no cluster is offered"
    fit = result.feasible.bit_count()
    yield f"{fit} of {_clusters(offered)} {_are(fit)} feasible"
    if result.totals is None:
        yield f"stopped: {result.status.plugin}:{result.status.message}"
        return
    yield _choice(placement.number_of_clusters, result.unscheduled)
    if verdict.status.code is Code.MISCONFIGURED:
        yield f"groups are missing: {verdict.status.message}"
    for index, group in enumerate(verdict.grouped.groups):
        if placement.groups or len(verdict.grouped.groups) > 1:
            named = f"decision group {index} {group.name}".rstrip()
            yield f"{named}: {_clusters(len(group.clusters))} in {', '.join(group.objects)}"
    if outcome.held_until is not None:
        moment = format_moment(outcome.held_until)
        yield f"only scores have changed: this takes effect at {moment}"


def _choice(number: int | None, missing: int) -> str:
    """Return how the chosen ones were taken from the feasible ones."""
    if number is None:
        return "no numberOfClusters: every feasible cluster"
    step = f"numberOfClusters {number}: the best {number} by score, then name"
    return f"{step}; {missing} fewer than asked for" if missing else step


def _clusters(number: int) -> str:
    return "1 cluster" if number == 1 else f"{number} clusters"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _listed(noun: str, names: tuple[str, ...]) -> str:
    """Return names with their noun."""
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"


WAITS = ClusterVerdict("Rollout", "it waits for its turn", "wait until those before it succeed")
OLD = "it has an earlier template until its turn comes"


def explain_set(
    key: ObjectKey,
    wanted: ReplicaSet,
    decision: SetDecision,
    placements: Mapping[str, DecidedPlacement],
) -> Explanation:
    """Return what is known of each cluster of the placements of a set."""
    decided: set[ClusterName] = set()
    for reference in wanted.references:
        placement = placements.get(reference.name)
        if placement is not None and not isinstance(placement.groups, UserError):
            decided |= placement.groups.names()
    present = template_id(wanted.template)
    has = {one.cluster for one in decision.record.works if one.template == present}
    old = {one.cluster for one in decision.record.works} - has
    states = {one.work.cluster: _state(one) for one in decision.works}
    answers = [
        ClusterAnswer(
            cluster=name,
            verdicts=() if name in has else (WAITS,),
            picked=name in has,
            note=states.get(name, "") if name in has else OLD if name in old else "",
        )
        for name in sorted(decided | has | old)
    ]
    conditions = decision.outcome.conditions
    return Explanation(
        key=key,
        subject=f"{key.namespace}/{key.name}",
        question=", ".join(_asked(one.name, one.strategy) for one in wanted.references),
        result=", ".join(f"{one.type} {one.status} ({one.reason})" for one in conditions),
        clusters=tuple(answers),
    )


def _state(work: ReportedWork) -> str:
    """Return how far a cluster is; what will be assumed later another template may prevent."""
    if work.until is not None:
        return "no report yet"
    return f"{rollout_status(work.work)[0]}{', assumed' if work.assumed else ''}"


def _asked(name: str, strategy: Mapping[str, object] | None) -> str:
    return f"{text(strategy or {}, 'type') or 'All'} clusters of {name}"


def waits_of_set(key: ObjectKey, decision: SetDecision, now: datetime) -> Iterator[Wait]:
    """Yield what a set waits for."""
    subject = f"{key.namespace}/{key.name}"
    for result in decision.outcome.results.values():
        for rollout in result.clusters:
            until = ceiling(rollout.recheck_at)
            if until is not None and until > now:
                succeeded = rollout.status is RolloutStatus.SUCCEEDED
                state = "has succeeded" if succeeded else "is progressing"
                then = "the rollout goes on" if succeeded else f"{rollout.cluster} counts as failed"
                yield Wait(
                    until=until,
                    key=key,
                    subject=subject,
                    reason=f"{rollout.cluster} {state}",
                    then=then,
                )
    for work in decision.works if decision.awaits else ():
        if work.until is not None:
            yield Wait(
                until=work.until,
                key=key,
                subject=subject,
                reason=f"{work.work.cluster} has not reported",
                then="it is assumed to be available",
            )
