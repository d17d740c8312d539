"""Why a placement moved: what of it, of the clusters and of the scores is not as it was."""

from collections.abc import Iterator
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
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.object_pass import Part
from reconciler.dialects.ocm.decide import Surroundings, decide
from reconciler.dialects.ocm.hub import HubBefore
from reconciler.dialects.ocm.placement_files import Draft, draft_of
from reconciler.dialects.ocm.scheduler.schedule import DecisionsSoFar, Hub
from reconciler.dialects.ocm.view.record import differs_in_spec
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.world import Manifest


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
    for one in hub:
        others = (*own, *(other for other in hub if other is not one))
        alone = trials.without(others)
        evicted = alone is not None and alone.cause.kind is CauseKind.EVICTED
        if alone is not None and evicted and one.cause.kind is CauseKind.CLUSTERS_CHANGED:
            yield replace(one, cause=of_touched(alone.cause, alone, one.cause.sources))
        else:
            yield one


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
