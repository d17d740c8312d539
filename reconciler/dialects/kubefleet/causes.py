"""Why a placement moved: what of it and of the clusters is not as it was, and who evicts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from reconciler.dialects.causes import (
    Difference,
    Trials,
    beside_creation,
    causes_of,
    is_explained,
    of_touched,
    with_cause,
)
from reconciler.dialects.cluster_inventory import Earlier
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.api.policy import decode_policy
from reconciler.dialects.kubefleet.api.score_property import scores_of
from reconciler.dialects.kubefleet.eviction.evictions import NO_EVICTIONS, Evictions
from reconciler.dialects.kubefleet.updaterun.update_runs import NO_RUNS, UpdateRuns
from reconciler.dialects.object_pass import Part
from reconciler.dialects.scores.reports import Reports
from reconciler.manifests.suspension import is_suspended
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.world import Manifest, World


@dataclass(frozen=True, slots=True)
class DemandedPlacement:
    """A placement with everything that differs, or with a part of that."""

    manifest: Manifest
    placement: Placement
    demand: RescheduleTrigger | None
    members: Members
    evictions: Evictions
    runs: UpdateRuns = NO_RUNS
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class FleetBefore:
    """The clusters and the scores of the last pass, each `None` if they are the same."""

    clusters: Earlier[Members] | None
    scores: Earlier[Reports] | None


PlacementDifference = Difference[DemandedPlacement]
Decide = Callable[[DemandedPlacement], Part]


def with_causes(
    question: DemandedPlacement, decide: Decide, world: World, before: FleetBefore
) -> Part:
    """Decide a placement, and name all that it took.

    Args:
        question: The placement as it is.
        decide: Decides it.
        world: Its `earlier` has the placement of the last pass, if that differs.
        before: The fleet of the last pass.
    """
    part = decide(question)
    decision = part.decision
    if decision is None or not is_explained(decision):
        return part
    key = question.manifest.key
    trials = Trials(
        decision, question, lambda asked: None if asked.suspended else decide(asked).decision
    )
    edited = (*_of_clusters(before.clusters), *_of_scores(question, before.scores))
    if decision.cause.kind is CauseKind.CREATED:
        causes = [decision.cause, *beside_creation(trials, edited)]
        return part._replace(decision=with_cause(decision, causes))
    asking = () if question.demand is None else (_asking(question.demand),)
    unasked = trials.without(asking) if asking else decision
    own = (*asking, *_differences(question, unasked, world.earlier.get(key)))
    told = tuple(_as_told(one, trials.without(own)) for one in edited)
    causes = list(causes_of(trials, (*own, *told))) if own or told else []
    return part._replace(decision=with_cause(decision, causes, by_hand=bool(part.edited)))


def _as_told(one: PlacementDifference, alone: Decision | None) -> PlacementDifference:
    """Return what the clusters did as a decision tells that nothing but they brought about."""
    if alone is None or alone.cause.kind is not CauseKind.CLUSTER_GONE:
        return one
    return replace(one, cause=of_touched(alone.cause, alone, one.cause.sources))


def _of_clusters(clusters: Earlier[Members] | None) -> Iterator[PlacementDifference]:
    """Yield that clusters are not as they were."""
    if clusters is not None:
        yield Difference(
            Cause(CauseKind.CLUSTERS_CHANGED, sources=clusters.keys),
            lambda asked: replace(asked, members=clusters().with_scores(asked.members.scores)),
        )


def _of_scores(
    question: DemandedPlacement, scores: Earlier[Reports] | None
) -> Iterator[PlacementDifference]:
    """Yield that scores which the placement ranks clusters by are not as they were."""
    asked = {one.resource for one in scores_of(decode_policy(question.placement.policy))}
    edited = () if scores is None else tuple(key for key in scores.keys if key.name in asked)
    if scores is not None and edited:
        yield Difference(
            Cause(CauseKind.SCORES_CHANGED, sources=edited),
            lambda asked: replace(asked, members=asked.members.with_scores(scores())),
        )


def _differences(
    question: DemandedPlacement, unasked: Decision | None, earlier: Manifest | None
) -> Iterator[PlacementDifference]:
    """Yield who evicts, and that the placement is not as it was.

    `unasked` is what is decided where nobody asks.
    """
    key = question.manifest.key
    if unasked is not None and unasked.cause.kind is CauseKind.EVICTED:
        yield Difference(unasked.cause, lambda asked: replace(asked, evictions=NO_EVICTIONS))
    if earlier is not None:
        yield from _edits(question.manifest, earlier)
    elif unasked is not None and unasked.cause.kind is CauseKind.PLACEMENT_CHANGED:
        cause = Cause(CauseKind.PLACEMENT_CHANGED, sources=(key,))
        yield Difference(cause, lambda same: same, told=True)  # what it was is lost


def _edits(manifest: Manifest, earlier: Manifest) -> Iterator[PlacementDifference]:
    """Yield what of a placement is not as it was."""
    key, spec = manifest.key, earlier.body.get("spec")
    if is_suspended(earlier.body) and not is_suspended(manifest.body):
        resumed = Cause(CauseKind.RESUMED, sources=(key,))
        yield Difference(resumed, lambda asked: replace(asked, suspended=True))
    if spec != manifest.body.get("spec"):
        before = replace(manifest, held={**manifest.body, "spec": spec})
        was = decode_placement(before.body, key.namespace)
        yield Difference(
            Cause(CauseKind.PLACEMENT_CHANGED, sources=(key,)),
            lambda asked: replace(asked, manifest=before, placement=was),
        )


def _asking(demand: RescheduleTrigger) -> PlacementDifference:
    """Return that a rebalancer asks, who is told that it was done."""
    return Difference(
        Cause(CauseKind.REBALANCED, demand.by, sources=demand.askers),
        lambda asked: replace(asked, demand=None),
        told=True,
    )
